//! Removing what nobody holds. The one thing besides a [rebuild](Store::rebuild) that reads the whole directory.

use plugin_support::Error;

use super::scan::{Content, scan};
use super::{Store, remove_file, table_of};
use crate::addr::Addr;
use crate::reservation::ValidOwners;

impl Store {
    /// Removes the reservations that no valid attachment holds, files without content, and what killed processes left.
    /// Files that are no reservations stay. Goes on past failures.
    ///
    /// The directory is read as a whole and the index made anew.
    ///
    /// # Errors
    ///
    /// Every failure.
    pub fn collect_garbage(&mut self, valid: &ValidOwners) -> std::result::Result<Vec<Addr>, Vec<Error>> {
        let found = scan(&self.dir).map_err(|error| vec![error])?;
        let all_read = found.unread.is_empty();
        // What cannot be read may be what nobody holds.
        let mut errors = found.unread;
        let mut removed = Vec::new();
        let mut kept = Vec::new();
        for (address, content) in found.files {
            let stale = match &content {
                Content::Empty => true,
                Content::Foreign => false,
                Content::Text(text) => valid.lack(text),
            };
            if !stale {
                kept.push((address, content));
                continue;
            }
            match remove_file(&self.path(address)) {
                Ok(()) => removed.push(address),
                Err(error) => {
                    errors.push(error);
                    kept.push((address, content));
                }
            }
        }
        errors.extend(found.leftovers.iter().filter_map(|name| remove_file(&self.dir.join(name)).err()));
        self.table = table_of(&kept).ok();
        self.keep_index_if(all_read);
        if errors.is_empty() { Ok(removed) } else { Err(errors) }
    }
}
