//! What one version wrote, another reads: configurations, results and plugins of every spec version with one another. What
//! Go's plugins and ours find of each other on disk is in `interop`, `side_by_side` and the packages of the plugins.

mod versions;
