use cni_skel::{CniPlugin, RuntimeConfig};

#[derive(RuntimeConfig)]
struct Runtime {
    #[cni(rename = "portmappings")]
    ports: Vec<String>,
}

#[derive(CniPlugin)]
#[cni(name = "hello", runtime = Runtime)]
struct Hello;

fn main() {
    let _ = <Hello as CniPlugin>::Runtime::CAPABILITIES;
    let _ = |runtime: Runtime| runtime.ports;
}
