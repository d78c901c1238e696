use cni_skel::RuntimeConfig;

struct Thing;

#[derive(RuntimeConfig)]
struct It {
    thing: Option<Thing>,
}

fn main() {}
