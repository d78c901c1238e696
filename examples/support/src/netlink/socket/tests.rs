use super::*;

fn message(kind: u16, flags: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
    encode(kind, flags, sequence, body)
}

/// What an acknowledgement carries: the number, then the header of the request.
fn acknowledgement(code: i32, attributes: &[u8]) -> Vec<u8> {
    let mut body = code.to_ne_bytes().to_vec();
    body.extend(encode(16, 5, 1, &[]));
    body.extend_from_slice(attributes);
    body
}

/// One attribute, padded.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = u16::try_from(4 + value.len()).unwrap().to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend_from_slice(value);
    bytes.resize(aligned(bytes.len()), 0);
    bytes
}

#[test]
fn a_request_has_the_kernels_header() {
    let mut expected = Vec::new();
    expected.extend(21_u32.to_ne_bytes());
    expected.extend(18_u16.to_ne_bytes());
    expected.extend(5_u16.to_ne_bytes());
    expected.extend(7_u32.to_ne_bytes());
    expected.extend(0_u32.to_ne_bytes());
    expected.extend([1, 2, 3, 4, 5]);
    assert_eq!(encode(18, 5, 7, &[1, 2, 3, 4, 5]), expected);
}

#[test]
fn replies_end_with_the_acknowledgement() {
    let mut answer = Answer::new(7);
    answer.take(&message(16, 0, 7, b"link")).unwrap();
    assert!(!answer.complete);
    answer.take(&message(NLMSG_ERROR, 0, 7, &acknowledgement(0, &[]))).unwrap();
    assert!(answer.complete);
    assert_eq!(answer.replies, [Reply { kind: 16, body: b"link".to_vec() }]);
}

#[test]
fn one_datagram_holds_many_messages_with_padding_between() {
    let mut datagram = message(16, 2, 7, b"odd");
    datagram.resize(aligned(datagram.len()), 0);
    datagram.extend(message(16, 2, 7, b"even"));
    datagram.extend(message(NLMSG_DONE, 2, 7, &0_i32.to_ne_bytes()));
    let mut answer = Answer::new(7);
    answer.take(&datagram).unwrap();
    assert!(answer.complete);
    let bodies: Vec<_> = answer.replies.iter().map(|reply| reply.body.as_slice()).collect();
    assert_eq!(bodies, [&b"odd"[..], b"even"]);
}

#[test]
fn answers_to_an_older_request_are_passed_over() {
    let mut answer = Answer::new(8);
    answer.take(&message(16, 2, 7, b"old")).unwrap();
    answer.take(&message(NLMSG_DONE, 2, 7, &0_i32.to_ne_bytes())).unwrap();
    answer.take(&message(NLMSG_ERROR, 0, 7, &acknowledgement(-2, &[]))).unwrap();
    assert!(!answer.complete && answer.replies.is_empty());
    answer.take(&message(NLMSG_DONE, 2, 8, &[])).unwrap();
    assert!(answer.complete, "done without a code is done");
}

#[test]
fn a_dump_that_was_interrupted_is_marked() {
    let mut answer = Answer::new(1);
    answer.take(&message(16, 2 | NLM_F_DUMP_INTR, 1, b"x")).unwrap();
    answer.take(&message(NLMSG_DONE, 2, 1, &0_i32.to_ne_bytes())).unwrap();
    assert!(answer.complete && answer.interrupted);
}

#[test]
fn a_refusal_has_the_kernels_number_and_words() {
    let text = attribute(ERROR_TEXT, b"Device is busy\0");
    let offset = attribute(2, &[0; 4]);
    let attributes = [offset, text].concat();
    let datagram = message(NLMSG_ERROR, NLM_F_CAPPED | NLM_F_ACK_TLVS, 3, &acknowledgement(-16, &attributes));
    match Answer::new(3).take(&datagram) {
        Err(Failure::Refused { errno, explanation }) => {
            assert_eq!(errno, RawErrno::BUSY);
            assert_eq!(explanation.as_deref(), Some("Device is busy"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_refusal_that_repeats_the_whole_request_has_its_words_behind_it() {
    let mut body = (-22_i32).to_ne_bytes().to_vec();
    let mut echo = encode(16, 5, 3, &[9; 5]);
    echo.resize(aligned(echo.len()), 0);
    body.extend(echo);
    body.extend(attribute(ERROR_TEXT, b"no\0"));
    match Answer::new(3).take(&message(NLMSG_ERROR, NLM_F_ACK_TLVS, 3, &body)) {
        Err(Failure::Refused { errno, explanation }) => {
            assert_eq!((errno, explanation.as_deref()), (RawErrno::INVAL, Some("no")));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_dump_may_fail_at_its_end() {
    match Answer::new(3).take(&message(NLMSG_DONE, 2, 3, &(-95_i32).to_ne_bytes())) {
        Err(Failure::Refused { errno, explanation }) => {
            assert_eq!((errno, explanation), (RawErrno::OPNOTSUPP, None));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn nonsense_is_an_error_and_never_a_panic() {
    let truncated = &message(16, 0, 1, b"body")[..18];
    assert!(matches!(Answer::new(1).take(truncated), Err(Failure::Decode(_))));
    let mut short = message(16, 0, 1, b"");
    short[..4].copy_from_slice(&3_u32.to_ne_bytes());
    assert!(
        matches!(Answer::new(1).take(&short), Err(Failure::Decode(_))),
        "a length below the header's would loop"
    );
    assert!(matches!(Answer::new(1).take(&message(NLMSG_ERROR, 0, 1, b"ab")), Err(Failure::Decode(_))));
    match Answer::new(1).take(&message(NLMSG_ERROR, 0, 1, &i32::MIN.to_ne_bytes())) {
        Err(Failure::Refused { errno, .. }) => assert_eq!(errno, RawErrno::IO, "no number of Linux"),
        other => panic!("{other:?}"),
    }
}
