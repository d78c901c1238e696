//! What the attribute notes is what the impl writes, in whatever shape.

use std::marker::PhantomData;

use cni_skel::types::{Command, Handling};
use cni_skel::{
    AddRequest, AddResult, CheckRequest, CniPlugin, DelRequest, GcRequest, Plugin, Result, StatusRequest,
    describe,
};

/// The commands beyond ADD and DEL that a plugin handles.
fn handled<P: Plugin>() -> Vec<&'static str> {
    let description = describe::<P>();
    let commands = [Command::Check, Command::Gc, Command::Status].into_iter();
    commands
        .filter(|command| match description.handling(*command) {
            Handling::Handled => true,
            Handling::NoOp => false,
            other => panic!("{command} is {other}"),
        })
        .map(Command::as_str)
        .collect()
}

/// `impl Plugin` with `add`, `del` and what else is given.
macro_rules! plugin {
    ($plugin:ident { $($more:tt)* }) => {
        #[derive(CniPlugin)]
        #[cni(name = "made")]
        struct $plugin;

        #[cni_skel::plugin]
        impl Plugin for $plugin {
            fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
                Ok(req.result())
            }

            fn del(&self, _: &DelRequest<Self>) -> Result<()> {
                Ok(())
            }

            $($more)*
        }
    };
}

#[test]
fn what_is_written_is_noted() {
    plugin!(Least {});
    assert_eq!(handled::<Least>(), [""; 0]);
    plugin!(One {
        fn gc(&self, _: &GcRequest<Self>) -> Result<()> {
            Ok(())
        }
    });
    assert_eq!(handled::<One>(), ["GC"]);
    plugin!(All {
        fn status(&self, _: &StatusRequest<Self>) -> Result<()> {
            Ok(())
        }
        fn gc(&self, _: &GcRequest<Self>) -> Result<()> {
            Ok(())
        }
        fn check(&self, _: &CheckRequest<Self>) -> Result<()> {
            Ok(())
        }
    });
    assert_eq!(handled::<All>(), ["CHECK", "GC", "STATUS"]);
}

#[test]
fn what_is_not_compiled_is_not_noted() {
    plugin!(Conditional {
        /// Never there.
        #[cfg(any())]
        fn check(&self, _: &CheckRequest<Self>) -> Result<()> {
            Ok(())
        }
        #[cfg(all())]
        #[inline]
        fn gc(&self, _: &GcRequest<Self>) -> Result<()> {
            Ok(())
        }
        #[cfg_attr(all(), cfg(any()))]
        #[cfg_attr(any(), inline)]
        fn status(&self, _: &StatusRequest<Self>) -> Result<()> {
            Ok(())
        }
    });
    assert_eq!(handled::<Conditional>(), ["GC"]);
}

#[test]
fn a_whole_impl_may_come_from_a_macro() {
    macro_rules! noted {
        ($item:item) => {
            #[cni_skel::plugin]
            $item
        };
    }
    #[derive(CniPlugin)]
    #[cni(name = "passed")]
    struct Passed;
    noted! {
        impl Plugin for Passed {
            fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
                Ok(req.result())
            }
            fn del(&self, _: &DelRequest<Self>) -> Result<()> {
                Ok(())
            }
            fn check(&self, _: &CheckRequest<Self>) -> Result<()> {
                Ok(())
            }
        }
    }
    assert_eq!(handled::<Passed>(), ["CHECK"]);
}

#[derive(CniPlugin)]
#[cni(name = "generic")]
struct Generic<T, F>(PhantomData<(T, F)>);

/// Every `for` and every `>` that is not the one.
#[allow(clippy::mixed_attributes_style, reason = "attributes may stand in both places")]
#[cni_skel::plugin]
#[allow(clippy::needless_lifetimes, reason = "as some write it")]
impl<T: Into<Vec<u8>>, F: for<'a> Fn(&'a u8) -> Option<T>> cni_skel::Plugin for self::Generic<T, F>
where
    for<'a> &'a T: Sized,
{
    #![allow(clippy::unused_self, reason = "an attribute of the block's own")]

    fn add<'a>(&self, req: &'a AddRequest<Self>) -> Result<AddResult> {
        fn status() -> [u8; {
            const N: usize = 2;
            N
        }] {
            [0; 2]
        }
        let _ = (status(), |gc: fn() -> u8| gc());
        Ok(req.result())
    }

    fn del(&self, _: &DelRequest<Self>) -> Result<()> {
        if self.0 == PhantomData { Ok(()) } else { Err(cni_skel::Error::message("never")) }
    }

    fn r#check(&self, _: &CheckRequest<Self>) -> Result<()> {
        Ok(())
    }
}

#[test]
fn an_impl_may_have_parameters_and_attributes() {
    assert_eq!(handled::<Generic<Vec<u8>, fn(&u8) -> Option<Vec<u8>>>>(), ["CHECK"]);
}
