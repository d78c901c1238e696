// The derive stands on the type, this on the impl.
use cni_skel::CniPlugin;

#[cni_skel::plugin]
#[derive(CniPlugin)]
#[cni(name = "hello")]
struct Hello;

#[cni_skel::plugin]
struct Braces {}

fn main() {}
