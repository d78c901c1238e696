//! What a plugin is: its declarations, which the derive writes, and its behaviour, which the author writes.

use serde::de::DeserializeOwned;

use crate::args::CniArgs;
use crate::error::{CodedError, Result};
use crate::request::{AddRequest, CheckRequest, DelRequest, GcRequest, StatusRequest};
use crate::runtime_config::RuntimeConfig;
use crate::types::{AddResult, CniVersion};

/// What a plugin declares. Derive it; see the [`CniPlugin`](macro@crate::CniPlugin) derive.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say which plugin it is",
    note = "add `#[derive(cni_skel::CniPlugin)]` to `{Self}`, with `#[cni(name = \"…\")]` for its name"
)]
pub trait CniPlugin: Sized {
    /// The plugin's own configuration keys; `()` for none.
    type Config: DeserializeOwned;
    /// What the runtime may pass per container; `()` for nothing.
    type Runtime: RuntimeConfig;
    /// The keys of `CNI_ARGS` that the plugin takes; `()` for any, unread.
    type Args: CniArgs;

    /// The plugin's name, which is the `type` in configurations.
    const NAME: &'static str;
    /// One line about the plugin, for a person who runs the binary by hand.
    const ABOUT: &'static str;
    /// The plugin's own version, such as `1.2.0`; empty for none.
    const VERSION: &'static str = "";
    /// The spec versions that the plugin supports, oldest first. Never empty.
    const VERSIONS: &'static [CniVersion] = &CniVersion::ALL;
    /// Whether a key that [`CniPlugin::Config`] does not have is an error (code 2).
    const DENY_UNKNOWN_KEYS: bool = false;

    /// The JSON Schema of [`CniPlugin::Config`], if there is one, for [`describe`](crate::describe()).
    ///
    /// With the derive it is there when the type implements `schemars::JsonSchema` and the feature `schema` is on. Without
    /// one, the description has the keys that the type reads and what each may be.
    fn config_schema() -> Option<serde_json::Value> {
        None
    }

    /// The code and details of an error, if it is of one of the types that the plugin declares.
    ///
    /// The derive writes this from `#[cni(errors(…))]`.
    fn coded<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e dyn CodedError> {
        let _ = error;
        None
    }
}

/// What a plugin does.
///
/// [`add`](Plugin::add) and [`del`](Plugin::del) are a plugin's own; the other commands succeed without action until
/// they are written. Put [`#[cni_skel::plugin]`](macro@crate::plugin) on the impl, and the plugin can say which are.
/// Whatever a handler prints on stdout goes to stderr; its error becomes the error object.
///
/// ```
/// use cni_skel::{AddRequest, AddResult, CniPlugin, DelRequest, Plugin, Result};
///
/// #[derive(CniPlugin)]
/// #[cni(name = "nothing", about = "makes an interface that is none")]
/// struct Nothing;
///
/// impl Plugin for Nothing {
///     fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
///         let mut result = req.result();
///         result.add_interface(req.interface());
///         Ok(result)
///     }
///
///     fn del(&self, _: &DelRequest<Self>) -> Result<()> {
///         Ok(())
///     }
/// }
/// ```
///
/// See [the spec's operations](https://github.com/containernetworking/cni/blob/main/SPEC.md#cni-operations).
#[doc(alias = "PluginMain")]
#[doc(alias = "PluginMainFuncs")]
#[doc(alias = "CNIFuncs")]
pub trait Plugin: CniPlugin {
    /// The methods that the impl writes, from [`plugin`](macro@crate::plugin); `None` where that does not stand on it.
    #[doc(hidden)]
    const __HANDLERS: Option<&'static [&'static str]> = None;

    /// Attaches the container, and says what was made.
    ///
    /// The result is printed in the configuration's version. A chained plugin starts from
    /// [`AddRequest::result`], so that nothing of the plugins before it is lost.
    ///
    /// # Errors
    ///
    /// The plugin's own. What was made until then should be undone.
    #[doc(alias = "cmdAdd")]
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult>;

    /// Undoes ADD, as far as there is something to undo.
    ///
    /// Called again, without a namespace, without a `prevResult` and without an ADD before it, it succeeds.
    ///
    /// # Errors
    ///
    /// The plugin's own, when something is left that should not be; what is gone already is no error.
    #[doc(alias = "cmdDel")]
    fn del(&self, req: &DelRequest<Self>) -> Result<()>;

    /// Verifies that what ADD made is still there. Succeeds by default.
    ///
    /// # Errors
    ///
    /// When something is missing or was changed.
    #[doc(alias = "cmdCheck")]
    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        let _ = req;
        Ok(())
    }

    /// Says whether ADD could succeed. Succeeds by default.
    ///
    /// # Errors
    ///
    /// Code 50 when ADD cannot be served, 51 when existing containers may suffer as well.
    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        let _ = req;
        Ok(())
    }

    /// Removes whatever belongs to none of the valid attachments. Succeeds by default.
    ///
    /// # Errors
    ///
    /// The plugin's own, after it went on as far as it could.
    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        let _ = req;
        Ok(())
    }
}
