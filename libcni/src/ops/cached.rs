//! What the cache has: results, configurations, attachments. Nothing is run and nothing is waited for.

use std::io;
use std::path::PathBuf;

use cni_types::VersionedResult;
use cni_types::result::ConversionError;

use crate::attachment::RuntimeConf;
use crate::cache::{CachedAttachment, CachedResult, Content, Found, identity};
use crate::client::Client;
use crate::network::{Network, UnsupportedVersion};
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
        for (file, why) in listing.unread {
            self.warn(|| Warning::RecordSkipped { file, why: why.to_string() });
        }
        for (file, why) in listing.unusable {
            self.warn(|| Warning::RecordSkipped { file, why: why.to_string() });
        }
        if let Some(container_id) = container_id {
            listing.attachments.retain(|attachment| attachment.container_id() == container_id);
        }
        Ok(listing.attachments)
    }
}

/// The cache cannot tell what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The cached result cannot be had in the configuration's version.
    #[error("cannot use the cached result")]
    Convert(#[from] ConversionError),
    /// A file cannot be used.
    #[error("cannot use the cache file {}: {why}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// Why.
        why: String,
    },
    /// The folder of the cache files cannot be listed.
    #[error("cannot list the cache files in {}", dir.display())]
    List {
        /// The folder.
        dir: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The configuration is only for spec versions that this library does not know.
    #[error(transparent)]
    Version(#[from] UnsupportedVersion),
}
