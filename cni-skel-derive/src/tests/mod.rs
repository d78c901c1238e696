//! Expansions in process: what the derives write, and what they say of mistakes.

mod expand;
mod facts;
mod template;

use syn::DeriveInput;

type Derive = fn(&DeriveInput) -> proc_macro2::TokenStream;

/// What a derive writes for an item, as a person would read it.
fn expanded(derive: Derive, item: &str) -> String {
    let input = syn::parse_str(item).unwrap();
    prettyplease::unparse(&syn::parse2(derive(&input)).unwrap())
}

#[test]
#[should_panic(expected = "were not checked")]
fn mistakes_cannot_be_swallowed() {
    drop(crate::ctxt::Ctxt::new());
}
