//! The lines of `SECURITY.md` that need more than one package, or a kernel: hostile names, planted links, directories that are open to all, modes, secrets,
//! shells, and the public advisories about Go's plugins.

mod advisories;
mod document;
mod names;
mod planted;
mod secrets;
mod shell;
mod state;
