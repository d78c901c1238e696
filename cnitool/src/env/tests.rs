//! Flags over environment over defaults, and what cannot be used.

use super::*;

fn common() -> Common {
    Common {
        conf_dir: None,
        plugin_path: None,
        cache_dir: None,
        ifname: None,
        json: false,
        trace: None,
        redact: Vec::new(),
    }
}

fn target(netns: &str) -> Target {
    Target { network: "n1".to_owned(), netns: netns.into(), args: None, cap_args: None }
}

/// Resolves a target with these variables set.
fn resolve(common: Common, target: &Target, variables: &[(&str, &str)]) -> Result<RuntimeConf, Usage> {
    let find = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
    let settings = Settings::resolve(common, Env(&find))?;
    runtime_conf(target, &settings, Env(&find))
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_defaults() {
    let variables = [
        ("NETCONFPATH", "/env/net.d"),
        ("CNI_PATH", "/env/bin:/env/more"),
        ("CNI_CACHE_DIR", "/env/cache"),
        ("CNI_IFNAME", "env0"),
    ];
    let find = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
    let flags = Common {
        conf_dir: Some("/flag/net.d".into()),
        plugin_path: Some("/flag/bin".into()),
        cache_dir: Some("/flag/cache".into()),
        ifname: Some("flag0".to_owned()),
        ..common()
    };
    let told = |common, env: Env<'_>| {
        let settings = Settings::resolve(common, env).unwrap();
        let ifname = settings.ifname().unwrap().map(|name| name.into_string());
        (settings.conf_dir, settings.plugin_dirs, settings.cache_dir, ifname)
    };
    let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
    assert_eq!(
        told(flags, Env(&find)),
        ("/flag/net.d".into(), paths(&["/flag/bin"]), "/flag/cache".into(), Some("flag0".to_owned()))
    );
    assert_eq!(
        told(common(), Env(&find)),
        (
            "/env/net.d".into(),
            paths(&["/env/bin", "/env/more"]),
            "/env/cache".into(),
            Some("env0".to_owned())
        )
    );
    for unset in [Env(&|_| None), Env(&|_| Some(OsString::new()))] {
        assert_eq!(
            told(common(), unset),
            ("/etc/cni/net.d".into(), paths(&["/opt/cni/bin"]), "/var/lib/cni".into(), None)
        );
    }
}

#[test]
fn c33_every_pair_needs_a_key_and_a_value() {
    for (args, bad) in
        [("IP=10.1.1.5;FOO=", "FOO="), ("=x", "=x"), ("x=", "x="), ("IP=10.1.1.5;FOO", "FOO"), ("=", "=")]
    {
        let by_variable = resolve(common(), &target("/t"), &[("CNI_ARGS", args)]).unwrap_err();
        assert_eq!(by_variable.origin, "CNI_ARGS");
        assert!(matches!(&by_variable.fault, Fault::Pair(pair) if pair == bad), "{args}: {by_variable:?}");
        let by_flag = Target { args: Some(args.into()), ..target("/t") };
        assert_eq!(resolve(common(), &by_flag, &[]).unwrap_err().origin, "--args");
    }
    for args in ["IP=10.1.1.5", "A=1;B=2", "A=1;", "A=b=c", ""] {
        let rt = resolve(common(), &target("/t"), &[("CNI_ARGS", args)]).unwrap();
        assert_eq!(rt.args().to_string(), args);
    }
}

#[test]
fn what_cannot_be_used_is_told_with_where_it_came_from() {
    let fault = |variables: &[(&str, &str)]| resolve(common(), &target("/t"), variables).unwrap_err();
    assert!(matches!(
        fault(&[("CAP_ARGS", "[1]")]),
        Usage { origin: "CAP_ARGS", fault: Fault::Capabilities(_) }
    ));
    assert!(matches!(fault(&[("CNI_IFNAME", "a/b")]), Usage { origin: "CNI_IFNAME", fault: Fault::Name(_) }));
    assert!(matches!(
        resolve(common(), &target(""), &[]).unwrap_err(),
        Usage { origin: "NETNS", fault: Fault::Empty }
    ));
    let rt = resolve(common(), &target("/t"), &[("CAP_ARGS", "null")]).unwrap();
    assert!(rt.capability_args().is_empty());
}

#[test]
fn relative_plugin_directories_are_of_the_working_directory() {
    let find = |name: &str| (name == "CNI_PATH").then(|| OsString::from("./bin:/abs::"));
    let settings = Settings::resolve(common(), Env(&find)).unwrap();
    let here = std::env::current_dir().unwrap();
    assert_eq!(settings.plugin_dirs, [here.join("bin"), "/abs".into(), "".into(), "".into()]);
}
