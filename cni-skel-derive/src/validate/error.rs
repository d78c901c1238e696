//! The rules of `#[derive(CniError)]`: every case has a code, and no code is the spec's by accident.

use syn::ext::IdentExt;
use syn::{Fields, Ident, LitInt, LitStr};

use crate::ast::{Case, ErrorType};
use crate::attr::Code;
use crate::ctxt::Ctxt;
use crate::spec::{FIRST_OWN_CODE, INCOMPATIBLE_CNI_VERSION, NAMED_CODES};
use crate::template::Template;

/// A variant or struct that keeps the rules.
pub(crate) struct CheckedCase {
    pub(crate) code: CaseCode,
    pub(crate) details: Option<Template>,
}

/// Where the code of a case comes from.
#[derive(Clone)]
pub(crate) enum CaseCode {
    /// A plugin's own number.
    Number(LitInt),
    /// A constant of `ErrorCode`.
    Name(Ident),
    /// The only field, which has a code itself.
    Field,
}

/// `None` for each case that breaks a rule.
pub(crate) fn error(cx: &Ctxt, ty: &ErrorType<'_>) -> Vec<Option<CheckedCase>> {
    let default = ty.default.code.value().and_then(|code| own_or_named(cx, code));
    let is_default_given = ty.default.code.is_given();
    ty.cases
        .iter()
        .map(|case| {
            let details = case.attrs.details.value().and_then(|written| template(cx, case, written));
            let code = match case.attrs.code.value() {
                _ if case.attrs.transparent.is_given() => transparent(cx, case),
                Some(code) => own_or_named(cx, code),
                // A faulty code was reported where it stands.
                None if case.attrs.code.is_given() || is_default_given => default.clone(),
                None => {
                    missing(cx, case);
                    None
                }
            };
            Some(CheckedCase { code: code?, details })
        })
        .collect()
}

/// A case with none of `code`, `transparent` and a default.
fn missing(cx: &Ctxt, case: &Case<'_>) {
    let place = if case.is_variant {
        " on the variant, or `#[cni(code = …)]` on the enum for all that have none"
    } else {
        ""
    };
    cx.error_at(
        case.ident,
        format!("`{}` has no code: add `#[cni(code = …)]` or `#[cni(transparent)]`{place}", case.ident),
    );
}

/// `transparent` with a code or details of its own, or without exactly one field.
fn transparent(cx: &Ctxt, case: &Case<'_>) -> Option<CaseCode> {
    let transparent = case.attrs.transparent.value()?;
    if case.attrs.code.is_given() || case.attrs.details.is_given() {
        cx.error_at(
            transparent,
            "`transparent` takes code and details from the field: remove it, or the others",
        );
    }
    if case.fields.len() != 1 {
        cx.error_at(
            transparent,
            format!(
                "`transparent` takes the code of the only field, and `{}` has {}",
                case.ident,
                case.fields.len()
            ),
        );
    }
    Some(CaseCode::Field)
}

fn own_or_named(cx: &Ctxt, code: &Code) -> Option<CaseCode> {
    match code {
        Code::Number(number) => own(cx, number),
        Code::Name(name) => named(cx, name),
    }
}

/// `code = 42`: reserved. `code = 11`: reserved, and has a name. `code = 0`: no error at all.
fn own(cx: &Ctxt, number: &LitInt) -> Option<CaseCode> {
    let advice = match number.base10_parse::<u64>() {
        Ok(FIRST_OWN_CODE..) => return Some(CaseCode::Number(number.clone())),
        Ok(0) => "code 0 is no error to a runtime".to_owned(),
        Ok(value) if value == INCOMPATIBLE_CNI_VERSION.value => INCOMPATIBLE.to_owned(),
        Ok(value) => match NAMED_CODES.iter().find(|named| named.value == value) {
            Some(named) => {
                format!("code {value} is the spec's: write `code = {}` if that is meant", named.name)
            }
            None => format!("code {value} is reserved for the spec"),
        },
        Err(_) => format!("`{number}` is no code"),
    };
    cx.error_at(number, format!("{advice}; a plugin's own codes are {FIRST_OWN_CODE} and above"));
    None
}

/// `code = TRY_AGIAN`, `code = INCOMPATIBLE_CNI_VERSION`.
fn named(cx: &Ctxt, name: &Ident) -> Option<CaseCode> {
    if NAMED_CODES.iter().any(|named| name == named.name) {
        return Some(CaseCode::Name(name.clone()));
    }
    let problem = if name == INCOMPATIBLE_CNI_VERSION.name {
        INCOMPATIBLE.to_owned()
    } else {
        format!("`{name}` is no code")
    };
    let names = NAMED_CODES.map(|named| named.name).join(", ");
    cx.error_at(name, format!("{problem}; expected a number from {FIRST_OWN_CODE} on, or one of {names}"));
    None
}

const INCOMPATIBLE: &str =
    "code 1 says that the plugin does not support the version, which is found before it runs";

/// `details = "{nosuch}"`, `details = "{"`, `details = "{}"`.
fn template(cx: &Ctxt, case: &Case<'_>, written: &LitStr) -> Option<Template> {
    let names = field_names(case.fields);
    Template::parse(written, &names).map_err(|error| cx.error(error)).ok()
}

/// The fields as a template names them: `pool`, or `0`.
fn field_names(fields: &Fields) -> Vec<String> {
    fields
        .iter()
        .enumerate()
        .map(|(at, field)| {
            field.ident.as_ref().map_or_else(|| at.to_string(), |ident| ident.unraw().to_string())
        })
        .collect()
}
