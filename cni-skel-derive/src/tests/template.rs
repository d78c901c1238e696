//! Texts with places for fields: what they print, and by which trait.

use insta::assert_snapshot;
use syn::LitStr;

use crate::template::Template;

/// The format string that is written, and what it prints.
fn read(text: &str) -> String {
    let fields = ["pool", "type", "0"].map(str::to_owned);
    match Template::parse(&LitStr::new(text, proc_macro2::Span::call_site()), &fields) {
        Err(error) => format!("error: {error}"),
        Ok(template) => {
            let prints: Vec<_> =
                template.prints.iter().map(|print| format!("{} {}", print.field, print.by)).collect();
            format!("{:?} {prints:?}", template.format.value())
        }
    }
}

#[test]
fn places_name_fields() {
    assert_snapshot!(read("no place"), @r#""no place" []"#);
    assert_snapshot!(read(""), @r#""" []"#);
    assert_snapshot!(read("{pool}{0} {type}"), @r#""{__cni_0}{__cni_2} {__cni_1}" ["0 Display", "2 Display", "1 Display"]"#);
    assert_snapshot!(read("{ pool } {r#type}"), @r#""{__cni_0} {__cni_1}" ["0 Display", "1 Display"]"#);
    assert_snapshot!(read("{pool} {pool} {pool:?}"), @r#""{__cni_0} {__cni_0} {__cni_0:?}" ["0 Display", "0 Debug"]"#);
    assert_snapshot!(read("{{pool}} {{{pool}}}"), @r#""{{pool}} {{{__cni_0}}}" ["0 Display"]"#);
    assert_snapshot!(read("größer: {pool} €"), @r#""größer: {__cni_0} €" ["0 Display"]"#);
}

#[test]
fn specifications_choose_the_trait() {
    assert_snapshot!(read("{0:?} {0:#?} {0:02x?}"), @r#""{__cni_2:?} {__cni_2:#?} {__cni_2:02x?}" ["2 Debug"]"#);
    assert_snapshot!(read("{0:x} {0:#X} {0:b} {0:o}"), @r##""{__cni_2:x} {__cni_2:#X} {__cni_2:b} {__cni_2:o}" ["2 LowerHex", "2 UpperHex", "2 Binary", "2 Octal"]"##);
    assert_snapshot!(read("{0:e} {0:E} {0:p}"), @r#""{__cni_2:e} {__cni_2:E} {__cni_2:p}" ["2 LowerExp", "2 UpperExp", "2 Pointer"]"#);
    assert_snapshot!(read("{0:>8} {0:.3} {0:x<8} {0:$^8} {0:*>+8.3}"), @r#""{__cni_2:>8} {__cni_2:.3} {__cni_2:x<8} {__cni_2:$^8} {__cni_2:*>+8.3}" ["2 Display"]"#);
}

#[test]
fn faults_are_told_before_the_compiler_finds_them() {
    assert_snapshot!(read("{"), @"error: `{` stands alone: write `{{` for the character");
    assert_snapshot!(read("a } b"), @"error: `}` stands alone: write `}}` for the character");
    assert_snapshot!(read("{}"), @"error: `{}` names no field: expected one of `{pool}`, `{type}`, `{0}`");
    assert_snapshot!(read("{:?}"), @"error: `{}` names no field: expected one of `{pool}`, `{type}`, `{0}`");
    assert_snapshot!(read("{1}"), @"error: there is no field `1`: expected one of `{pool}`, `{type}`, `{0}`");
    assert_snapshot!(read("{pool.len()}"), @"error: there is no field `pool.len()`: expected one of `{pool}`, `{type}`, `{0}`");
    assert_snapshot!(read("{0:.*}"), @"error: width and precision are plain numbers here");
    assert_snapshot!(read("{0:width$}"), @"error: width and precision are plain numbers here");
}
