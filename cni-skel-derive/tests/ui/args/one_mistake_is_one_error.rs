use cni_skel::{CniArgs, CniPlugin};

#[derive(CniArgs)]
struct Args<T> {
    ignore_unknown: T,
}

#[derive(CniPlugin)]
#[cni(name = "hello", args = Args<bool>)]
struct Hello;

fn main() {
    let _ = <Hello as CniPlugin>::Args::parse("");
    let _ = |args: Args<bool>| args.ignore_unknown;
}
