//! A plugin on rscni-plugin whose ADD gives the prevResult back. The equal of `../../../src/bin/passthrough.rs`.

use rscni_plugin::cni::{Cni, Plugin};
use rscni_plugin::error::Error;
use rscni_plugin::types::{Args, CNIResult};

struct Passthrough;

impl Cni for Passthrough {
    fn add(&self, args: Args) -> Result<CNIResult, Error> {
        args.config()
            .prev_result
            .clone()
            .ok_or_else(|| Error::InvalidNetworkConfig("there is no prevResult".to_owned()))
    }

    fn del(&self, _: Args) -> Result<(), Error> {
        Ok(())
    }

    fn check(&self, _: Args) -> Result<(), Error> {
        Ok(())
    }

    fn status(&self, _: Args) -> Result<(), Error> {
        Ok(())
    }

    fn gc(&self, _: Args) -> Result<(), Error> {
        Ok(())
    }
}

fn main() {
    if Plugin::default().msg("gives the prevResult back").run(&Passthrough).is_err() {
        std::process::exit(1);
    }
}
