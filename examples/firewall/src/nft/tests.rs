use plugin_support::testing::ScriptedTools;

use super::*;

const LIST: &str = "nft -j list table inet cni_plugins_firewall";
const APPLY: &str = "nft -j -f -";
const NO_TABLE: &str = "Error: No such file or directory\nlist table inet cni_plugins_firewall\n";

fn owner() -> Owner {
    Owner::new("n1", "c1", "eth0")
}

fn wanted(policy: IngressPolicy) -> Wanted {
    let isolation = (policy != IngressPolicy::Open).then(|| ("br0".to_owned(), policy));
    let addresses = ["10.2.0.2", "fd00::2"].map(|address| address.parse().unwrap()).into();
    Wanted { admin_chain: Some("CNI-ADMIN".into()), addresses, isolation }
}

/// The commands that make what is wanted of nothing.
fn from_nothing(wanted: &Wanted) -> Vec<Value> {
    let tools = ScriptedTools::new().failure(LIST, NO_TABLE).success(APPLY, "");
    assert!(add(&tools, &owner(), wanted).unwrap(), "for the first time");
    commands(&tools)
}

fn commands(tools: &ScriptedTools) -> Vec<Value> {
    tools.assert_done();
    let document: Value = serde_json::from_str(tools.stdins().last().unwrap()).unwrap();
    document["nftables"].as_array().unwrap().clone()
}

/// What nft lists when these commands have been run: a little of what it is.
fn listed(commands: &[Value]) -> Vec<Value> {
    let mut objects: Vec<Value> = Vec::new();
    for command in commands {
        let (verb, object) = command.as_object().unwrap().iter().next().unwrap();
        let mut object = object.clone();
        if let Some(element) = object.get("element") {
            let (name, value) = (&element["name"], element["elem"][0].clone());
            let set = objects.iter_mut().find(|object| object["set"]["name"] == *name).unwrap();
            let elements = set["set"].as_object_mut().unwrap().entry("elem").or_insert_with(|| json!([]));
            elements.as_array_mut().unwrap().push(value);
            continue;
        }
        if let Some(rule) = object.get_mut("rule") {
            rule["handle"] = json!(objects.len() + 100);
        }
        if verb == "insert" { objects.insert(0, object) } else { objects.push(object) }
    }
    objects
}

fn document(objects: &[Value]) -> String {
    json!({"nftables": objects}).to_string()
}

/// What ADD does to a table like this.
fn added(objects: &[Value], wanted: &Wanted) -> Vec<Value> {
    let tools = ScriptedTools::new().success(LIST, &document(objects)).success(APPLY, "");
    add(&tools, &owner(), wanted).unwrap();
    if tools.calls().len() == 1 { Vec::new() } else { commands(&tools) }
}

fn checked(objects: &[Value], wanted: &Wanted) -> String {
    let tools = ScriptedTools::new().success(LIST, &document(objects));
    check(&tools, &owner(), wanted).map_or_else(|error| error.to_object().msg, |()| "good".to_owned())
}

#[test]
fn what_add_has_made_is_complete() {
    for policy in [IngressPolicy::Open, IngressPolicy::SameBridge, IngressPolicy::Isolated] {
        let wanted = wanted(policy);
        let objects = listed(&from_nothing(&wanted));
        assert_eq!(checked(&objects, &wanted), "good");
        assert_eq!(added(&objects, &wanted), [] as [Value; 0], "{policy}");
    }
    let tools = ScriptedTools::new().failure(LIST, NO_TABLE);
    let error = check(&tools, &owner(), &wanted(IngressPolicy::Open)).unwrap_err();
    assert_eq!(error.to_object().msg, "expected nftables table inet cni_plugins_firewall not found");
}

#[test]
fn whatever_is_missing_is_told_and_made() {
    let wanted = wanted(IngressPolicy::Isolated);
    let whole = listed(&from_nothing(&wanted));
    for (index, gone) in whole.iter().enumerate().filter(|(_, object)| object.get("table").is_none()) {
        let mut objects = whole.clone();
        objects.remove(index);
        let told = checked(&objects, &wanted);
        assert!(told.starts_with("expected ") && told.contains(" not found"), "{gone}: {told}");
        assert_ne!(added(&objects, &wanted), [] as [Value; 0], "{gone}");
    }
    // So are elements.
    for (index, _) in whole.iter().enumerate().filter(|(_, object)| object["set"]["elem"].is_array()) {
        let mut objects = whole.clone();
        objects[index]["set"].as_object_mut().unwrap().remove("elem");
        assert!(checked(&objects, &wanted).contains(" of set "), "{}", whole[index]);
        assert!(added(&objects, &wanted)[0]["add"]["element"].is_object());
    }
    // And chains that nothing enters.
    for object in &whole {
        let mut objects = whole.clone();
        let at = objects.iter().position(|found| found == object).unwrap();
        let chain = objects[at].get_mut("chain").and_then(Value::as_object_mut);
        if chain.is_some_and(|chain| chain.remove("hook").is_some()) {
            assert!(checked(&objects, &wanted).contains("of another kind"), "{object}");
        }
    }
}

#[test]
fn rules_whose_order_matters_are_made_anew() {
    let wanted = wanted(IngressPolicy::SameBridge);
    let mut objects = listed(&from_nothing(&wanted));
    let of_isolation = |object: &Value| object["rule"]["chain"] == ISOLATION;
    let (first, last) = (objects.iter().position(of_isolation), objects.iter().rposition(of_isolation));
    objects.swap(first.unwrap(), last.unwrap());
    assert!(checked(&objects, &wanted).contains("expected rule"));
    let change = added(&objects, &wanted);
    assert_eq!(change[0]["flush"]["chain"]["name"], ISOLATION);
    assert_eq!(change.len(), 4, "{change:?}");

    // The administrator has the first word. What else is in the chain is the administrator's, and stays.
    let mut objects = listed(&from_nothing(&wanted));
    let at = objects.iter().position(|object| object["rule"]["expr"][0] == jump("CNI-ADMIN")).unwrap();
    let admin = objects.remove(at);
    objects.extend([json!({"rule": {"chain": FORWARD, "handle": 9, "expr": [{"accept": null}]}}), admin]);
    assert!(
        checked(&objects, &wanted).contains("\"jump containers\" of chain forward after that to CNI-ADMIN")
    );
    let change = added(&objects, &wanted);
    assert_eq!(change.len(), 2, "{change:?}");
    assert!(change[0]["delete"]["rule"]["handle"].is_u64() && change[1]["add"]["rule"]["chain"] == FORWARD);
}

#[test]
fn an_administrators_counters_and_policy_are_no_matter() {
    let wanted = wanted(IngressPolicy::Open);
    let mut objects = listed(&from_nothing(&wanted));
    for object in &mut objects {
        if let Some(rule) = object.get_mut("rule") {
            let statements = rule["expr"].as_array_mut().unwrap();
            statements.insert(0, json!({"counter": {"packets": 1, "bytes": 2}}));
        }
        if let Some(chain) = object.get_mut("chain").filter(|chain| chain["hook"] == "forward") {
            chain["policy"] = json!("drop");
        }
    }
    assert_eq!(added(&objects, &wanted), [] as [Value; 0]);
    // Another verdict is another rule.
    let mut rules = objects.iter_mut().filter(|object| object.get("rule").is_some());
    let rule = rules.find(|object| object["rule"]["chain"] == CONTAINERS).unwrap();
    *rule["rule"]["expr"].as_array_mut().unwrap().last_mut().unwrap() = json!({"drop": null});
    assert!(checked(&objects, &wanted).contains("expected rule \"answers to containers (ip)\""));
}

#[test]
fn an_address_is_whose_add_came_last() {
    let wanted = wanted(IngressPolicy::Open);
    let objects = listed(&from_nothing(&wanted));
    let tools = ScriptedTools::new().success(LIST, &document(&objects)).success(APPLY, "");
    assert!(!add(&tools, &Owner::new("n1", "c2", "eth0"), &wanted).unwrap(), "not for the first time");
    let change = commands(&tools);
    let verbs: Vec<_> =
        change.iter().map(|command| command.as_object().unwrap().keys().next().unwrap()).collect();
    assert_eq!(verbs, ["delete", "add", "delete", "add"]);
    let comment = change[1]["add"]["element"]["elem"][0]["elem"]["comment"].as_str().unwrap();
    assert!(comment.ends_with("net: n1, if: eth0, id: c2"), "{comment}");
    assert_eq!(checked(&objects, &wanted), "good", "whosever it is");
}

#[test]
fn what_goes_is_told_by_comment_address_and_bridge() {
    let objects = listed(&from_nothing(&wanted(IngressPolicy::SameBridge)));
    let removed_of = |objects: &[Value], removal: &Removal, key: &str, gone: &str| {
        let tools = ScriptedTools::new().success(LIST, &document(objects)).success(APPLY, "");
        remove(&tools, removal, |found| found == key, |bridge| bridge == gone).unwrap();
        let all = if tools.calls().len() == 1 { Vec::new() } else { commands(&tools) };
        let sets =
            all.iter().map(|command| command["delete"]["element"]["name"].as_str().unwrap().to_owned());
        sets.collect::<Vec<_>>()
    };
    let removed = |removal: &Removal, key: &str| removed_of(&objects, removal, key, "");
    let none = Removal::default();
    let (v4, v6): (IpAddr, IpAddr) = ("10.2.0.2".parse().unwrap(), "fd00::2".parse().unwrap());
    assert_eq!(removed(&none, ""), [""; 0]);
    assert_eq!(removed(&none, &Owner::new("n1", "c2", "eth0").key()), [""; 0]);
    assert_eq!(removed(&none, &owner().key()), ["containers_v4", "containers_v6"]);
    assert_eq!(removed(&Removal { kept: [v4].into(), ..none.clone() }, &owner().key()), ["containers_v6"]);
    // The comment tells whose an address is. Where there is none, the record does.
    let of_v6 = Removal { addresses: vec![v6], ..none.clone() };
    assert_eq!(removed(&of_v6, ""), [""; 0]);
    let text = document(&objects).replace(&owner().label(), "mine");
    let uncommented: Value = serde_json::from_str(&text).unwrap();
    let uncommented = uncommented["nftables"].as_array().unwrap();
    assert_eq!(removed_of(uncommented, &of_v6, "", ""), ["containers_v6"]);

    let both = [IngressPolicy::SameBridge, IngressPolicy::Isolated];
    let over = |policies: &[IngressPolicy]| Removal {
        bridges: policies.iter().map(|policy| ("br0".to_owned(), *policy)).collect(),
        kept: [v4, v6].into(),
        ..none.clone()
    };
    assert_eq!(removed(&over(&both), ""), ["bridges", "same_bridge"]);
    assert_eq!(removed(&over(&both[..1]), ""), ["same_bridge"], "somebody is isolated");
    assert_eq!(removed(&over(&both[1..]), ""), [""; 0]);
    // Whoever it is that has no record may be on the bridge, while there is one.
    let unknown = Removal { kept: [v4].into(), ..over(&both) };
    assert_eq!(removed(&unknown, ""), [""; 0]);
    assert_eq!(removed_of(&objects, &unknown, "", "br0"), ["bridges", "same_bridge"]);
    let tools = ScriptedTools::new().failure(LIST, NO_TABLE);
    remove(&tools, &over(&both), |_| true, |_| false).unwrap();
}

#[test]
fn names_that_mean_something_else_are_refused() {
    let refused = |wanted: &Wanted| {
        let tools = ScriptedTools::new().failure(LIST, NO_TABLE);
        add(&tools, &owner(), wanted).unwrap_err().to_object()
    };
    for name in ["br*", "@bridges", "br\"0", "br\n0", "br\\*"] {
        let mut wanted = wanted(IngressPolicy::Isolated);
        wanted.isolation.as_mut().unwrap().0 = name.to_owned();
        let msg = format!("nftables cannot express the name of bridge {name:?}: give it another");
        assert!(refused(&wanted).msg.starts_with(&msg), "{name}");
    }
    for name in ["", "a b", "x; flush ruleset", "1st", "a\"b", FORWARD, CONTAINERS, ISOLATION] {
        let mut wanted = wanted(IngressPolicy::Open);
        wanted.admin_chain = Some(name.to_owned());
        let error = refused(&wanted);
        assert_eq!(error.code(), ErrorCode::INVALID_NETWORK_CONFIG);
        assert!(error.msg.starts_with(&format!("invalid chain name {name:?} in key")), "{}", error.msg);
    }
}

#[test]
fn a_chain_of_the_wrong_kind_is_named() {
    let wanted = wanted(IngressPolicy::Isolated);
    for chain in [FORWARD, CONTAINERS, "CNI-ADMIN", ISOLATION] {
        let is_to_be_hooked = [FORWARD, ISOLATION].contains(&chain);
        let hook = if is_to_be_hooked { json!(null) } else { json!("forward") };
        let objects = [json!({"chain": {"name": chain, "hook": hook}})];
        let tools = ScriptedTools::new().success(LIST, &document(&objects));
        let msg = add(&tools, &owner(), &wanted).unwrap_err().to_object().msg;
        assert!(msg.starts_with(&format!("chain {chain} of nftables table")), "{msg}");
        assert_eq!(msg.contains("without a hook"), !is_to_be_hooked, "{msg}");
        assert_eq!(checked(&objects, &wanted), msg);
    }
}

#[test]
fn who_was_slower_begins_again() {
    let wanted = wanted(IngressPolicy::Open);
    let by_other = document(&listed(&from_nothing(&wanted)));
    let tools = ScriptedTools::new()
        .failure(LIST, NO_TABLE)
        .failure(APPLY, "Error: Could not process rule: File exists\n")
        .success(LIST, &by_other);
    assert!(!add(&tools, &owner(), &wanted).unwrap());
    tools.assert_done();
}
