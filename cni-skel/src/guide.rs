#![cfg_attr(feature = "conformance", doc = "[conformance]: crate::guide::conformance")]
#![doc = include_str!("guide/links.md")]
#![doc = include_str!("../docs/guide/README.md")]

// The pages are those of `docs/` in the repository, which `cni-skel/docs` links to, so that they are packaged and their
// code is tested. In the files the pages link to each other as files. `links.md` stands before each and makes modules of
// them: of two definitions of a link the first one counts. A block that fails is told as a line of `links.md`, too.
macro_rules! pages {
    ($($(#[$when:meta])* $name:ident: $file:literal,)*) => {
        $(
            $(#[$when])*
            #[cfg_attr(feature = "conformance", doc = "[conformance]: crate::guide::conformance")]
            #[doc = include_str!("guide/links.md")]
            #[doc = include_str!(concat!("../docs/", $file))]
            pub mod $name {}
        )*
    };
}

pages! {
    cnitool: "guide/cnitool.md",
    comparison: "comparison.md",
    configuration: "guide/configuration.md",
    #[cfg(feature = "conformance")]
    conformance: "guide/conformance.md",
    conformance_of_go_plugins: "conformance-of-go-plugins.md",
    debugging: "guide/debugging.md",
    delegation: "guide/delegation.md",
    deviations: "deviations.md",
    first_plugin: "guide/first-plugin.md",
    porting: "guide/porting.md",
    porting_by_example: "guide/porting-by-example.md",
    results: "guide/results.md",
    testing: "guide/testing.md",
    upkeep: "guide/upkeep.md",
}
