//! `CNI_ARGS`: it prints as it was read, and its pairs can be pushed one by one.

use cni_types::{CniArgs, ErrorCode, ErrorObject};

/// Reads bytes as `CNI_ARGS`.
pub fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let args = match text.parse::<CniArgs>() {
        Ok(args) => args,
        Err(error) => {
            assert_eq!(ErrorObject::from(error).code(), ErrorCode::INVALID_ENVIRONMENT);
            return;
        }
    };
    assert_eq!(args.to_string(), text);
    assert_eq!(args.is_empty(), args.iter().count() == 0);
    let mut pushed = CniArgs::new();
    for (key, value) in args.iter() {
        // The text may hold NUL here, which no environment can, and which is not pushed.
        match pushed.push(key, value) {
            Ok(()) => {}
            Err(_) => assert!(key.contains('\0') || value.contains('\0')),
        }
        let last = args.iter().filter(|(other, _)| *other == key).last();
        assert_eq!(args.find(key), last.map(|(_, value)| value));
    }
    if !text.contains('\0') {
        assert!(pushed.iter().eq(args.iter()));
        assert_eq!(pushed.to_string().parse(), Ok(pushed));
    }
    let keys: Vec<_> = args.iter().map(|(key, _)| key).collect();
    if args.ignore_unknown().is_ok() {
        assert_eq!(args.check_known(&keys), Ok(()), "no key is unknown that is known");
    } else {
        assert!(args.check_known(&keys).is_err());
    }
}
