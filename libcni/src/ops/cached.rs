//! What the cache has: results, configurations, attachments. Nothing is run and nothing is waited for.

use cni_types::VersionedResult;

use crate::attachment::RuntimeConf;
use crate::cache::{CachedAttachment, CachedResult, Content, Found, identity};
use crate::client::Client;
use crate::error::CacheError;
use crate::network::Network;
use crate::observe::Warning;

impl Client {
    /// The cached result of ADD, in the network's version; `None` if there is none.
    ///
    /// # Errors
    ///
    /// When there is one and it cannot be used, or the network's version is none that this library knows.
    #[doc(alias = "GetNetworkListCachedResult")]
    #[doc(alias = "GetNetworkCachedResult")]
    pub fn cached_result(
        &self,
        network: &Network,
        rt: &RuntimeConf,
    ) -> Result<Option<VersionedResult>, CacheError> {
        let version = network.version()?;
        match self.shared.cache.result(identity(network, rt)) {
            CachedResult::None { .. } => Ok(None),
            CachedResult::Good(result) => Ok(Some(result.convert(version)?)),
            CachedResult::Bad { file, why } => Err(CacheError::Damaged { file, why: why.to_string() }),
        }
    }

    /// The cached attachment, with the configuration and the parameters that ADD was called with; `None` if there is none.
    ///
    /// # Errors
    ///
    /// When there is a file and it cannot be used, or it is one of an old library that has nothing but the result.
    #[doc(alias = "GetNetworkListCachedConfig")]
    #[doc(alias = "GetNetworkCachedConfig")]
    pub fn cached_attachment(
        &self,
        network: &Network,
        rt: &RuntimeConf,
    ) -> Result<Option<CachedAttachment>, CacheError> {
        match self.shared.cache.find(identity(network, rt)) {
            Found::Nothing { .. } => Ok(None),
            Found::Content { file, content: Content::Record(record) } => {
                Ok(Some(CachedAttachment::new(*record, file)))
            }
            Found::Content { file, content: Content::Legacy(_) } => {
                let why = "it is a file of an old library, which kept nothing but the result".to_owned();
                Err(CacheError::Damaged { file, why })
            }
            Found::Unusable { file, why } => Err(CacheError::Damaged { file, why: why.to_string() }),
        }
    }

    /// Every cached attachment, or those of one container, in the order of their files' names.
    ///
    /// What a file is for is told by its content. Files that do not tell, such as those of old libraries, are left out, and
    /// an observer is [told](crate::Warning::RecordSkipped) why.
    ///
    /// # Errors
    ///
    /// When the cache directory cannot be listed. One that does not exist is an empty one.
    #[doc(alias = "GetCachedAttachments")]
    pub fn attachments(&self, container_id: Option<&str>) -> Result<Vec<CachedAttachment>, CacheError> {
        let listing = self.shared.cache.list();
        let mut listing =
            listing.map_err(|source| CacheError::List { dir: self.shared.cache.results(), source })?;
        for (file, why) in listing.unusable {
            self.warn(|| Warning::RecordSkipped { file, why: why.to_string() });
        }
        if let Some(container_id) = container_id {
            listing.attachments.retain(|attachment| attachment.container_id() == container_id);
        }
        Ok(listing.attachments)
    }
}
