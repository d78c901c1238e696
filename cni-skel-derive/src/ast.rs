//! The input of each derive as a tree of our own: what was written, in our terms. No decisions.

use syn::{Attribute, Data, DeriveInput, Field, Fields, Generics, Ident, Path, Type};

use crate::attr::{self, ErrorAttrs, FieldAttrs, PluginAttrs, RecordAttrs};
use crate::ctxt::Ctxt;

/// The type that derives, and the path to `cni-skel` as it sees it.
pub(crate) struct Target<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    pub(crate) krate: Path,
    /// Whether the type is deprecated, and so may not be named without a warning.
    pub(crate) is_deprecated: bool,
}

impl<'a> Target<'a> {
    fn new(input: &'a DeriveInput, krate: &attr::Once<Path>) -> Self {
        let krate = krate.value().cloned().unwrap_or_else(|| syn::parse_quote!(::cni_skel));
        let is_deprecated = input.attrs.iter().any(|attr| attr.path().is_ident("deprecated"));
        Self { ident: &input.ident, generics: &input.generics, krate, is_deprecated }
    }
}

/// The input of `#[derive(CniPlugin)]`.
pub(crate) struct Plugin<'a> {
    pub(crate) target: Target<'a>,
    pub(crate) attrs: PluginAttrs,
    /// The first paragraph of the type's doc comment.
    pub(crate) doc: Option<String>,
}

impl<'a> Plugin<'a> {
    pub(crate) fn lower(cx: &Ctxt, input: &'a DeriveInput) -> Self {
        let attrs = PluginAttrs::read(cx, &input.attrs);
        for inner in inner_attrs(&input.data) {
            attr::refuse(cx, inner, "`CniPlugin` reads `#[cni(…)]` on the type alone");
        }
        Self { target: Target::new(input, &attrs.krate), attrs, doc: attr::doc_line(&input.attrs) }
    }
}

/// The input of `#[derive(RuntimeConfig)]` and `#[derive(CniArgs)]`: a struct with named fields.
pub(crate) struct Record<'a> {
    pub(crate) target: Target<'a>,
    pub(crate) attrs: RecordAttrs,
    pub(crate) fields: Vec<RecordField<'a>>,
}

/// One capability, or one argument.
pub(crate) struct RecordField<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) ty: &'a Type,
    pub(crate) attrs: FieldAttrs,
}

impl<'a> Record<'a> {
    pub(crate) fn lower(cx: &Ctxt, input: &'a DeriveInput, attrs: RecordAttrs, what: &str) -> Self {
        let fields: Vec<RecordField<'a>> = match &input.data {
            Data::Struct(data) => match &data.fields {
                Fields::Named(fields) => {
                    fields.named.iter().filter_map(|field| RecordField::lower(cx, field)).collect()
                }
                Fields::Unnamed(_) | Fields::Unit => not_a_record(cx, input, what),
            },
            Data::Enum(_) | Data::Union(_) => not_a_record(cx, input, what),
        };
        Self { target: Target::new(input, &attrs.krate), attrs, fields }
    }
}

fn not_a_record<T>(cx: &Ctxt, input: &DeriveInput, what: &str) -> Vec<T> {
    cx.error_at(&input.ident, format!("expected a struct with named fields: {what}"));
    Vec::new()
}

impl<'a> RecordField<'a> {
    fn lower(cx: &Ctxt, field: &'a Field) -> Option<Self> {
        let ident = field.ident.as_ref()?;
        Some(Self { ident, ty: &field.ty, attrs: FieldAttrs::read(cx, &field.attrs) })
    }
}

/// The input of `#[derive(CniError)]`.
pub(crate) struct ErrorType<'a> {
    pub(crate) target: Target<'a>,
    /// What an enum says for the variants that say nothing; of a struct, nothing.
    pub(crate) default: ErrorAttrs,
    pub(crate) cases: Vec<Case<'a>>,
}

/// A variant, or a struct as a whole.
pub(crate) struct Case<'a> {
    /// The variant, or the struct.
    pub(crate) ident: &'a Ident,
    pub(crate) is_variant: bool,
    pub(crate) attrs: ErrorAttrs,
    pub(crate) fields: &'a Fields,
}

impl<'a> ErrorType<'a> {
    pub(crate) fn lower(cx: &Ctxt, input: &'a DeriveInput) -> Self {
        for field in inner_fields(&input.data) {
            attr::refuse(
                cx,
                &field.attrs,
                "`CniError` reads `#[cni(…)]` on the type and its variants, not on fields",
            );
        }
        match &input.data {
            Data::Enum(data) => {
                let default = ErrorAttrs::read_on_enum(cx, &input.attrs);
                let cases = data.variants.iter().map(|variant| Case {
                    ident: &variant.ident,
                    is_variant: true,
                    attrs: ErrorAttrs::read_on_variant(cx, &variant.attrs),
                    fields: &variant.fields,
                });
                Self { target: Target::new(input, &default.krate), cases: cases.collect(), default }
            }
            Data::Struct(data) => {
                let attrs = ErrorAttrs::read_on_struct(cx, &input.attrs);
                let target = Target::new(input, &attrs.krate);
                let case = Case { ident: &input.ident, is_variant: false, attrs, fields: &data.fields };
                Self { target, default: ErrorAttrs::default(), cases: vec![case] }
            }
            Data::Union(_) => {
                cx.error_at(&input.ident, "expected an enum or a struct: a union is no error");
                let attrs = ErrorAttrs::read_on_struct(cx, &input.attrs);
                Self {
                    target: Target::new(input, &attrs.krate),
                    default: ErrorAttrs::default(),
                    cases: Vec::new(),
                }
            }
        }
    }
}

/// The attributes of everything inside a type.
fn inner_attrs(data: &Data) -> impl Iterator<Item = &Vec<Attribute>> {
    let variants = match data {
        Data::Enum(data) => Some(data.variants.iter().map(|variant| &variant.attrs)),
        Data::Struct(_) | Data::Union(_) => None,
    };
    variants.into_iter().flatten().chain(inner_fields(data).map(|field| &field.attrs))
}

/// The fields of a type, those of its variants included.
fn inner_fields(data: &Data) -> impl Iterator<Item = &Field> {
    let fields: Vec<&Field> = match data {
        Data::Enum(data) => data.variants.iter().flat_map(|variant| &variant.fields).collect(),
        Data::Struct(data) => data.fields.iter().collect(),
        Data::Union(data) => data.fields.named.iter().collect(),
    };
    fields.into_iter()
}
