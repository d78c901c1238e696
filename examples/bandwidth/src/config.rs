//! The configuration: from the keys, or what the runtime gives in their place, to limits that make sense.
//!
//! Only ADD, CHECK and STATUS need that. DEL and GC must work whatever stands there.

use cni_skel::capability;
use cni_skel::{Error, ErrorCode, Result, RuntimeConfig};

use crate::bucket::Limit;

/// The keys of the plugin. "Ingress" is towards the container.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    ingress_rate: Option<u64>,
    ingress_burst: Option<u64>,
    egress_rate: Option<u64>,
    egress_burst: Option<u64>,
}

/// What the runtime gives.
#[derive(Clone, Debug, Default, RuntimeConfig)]
pub struct Runtime {
    bandwidth: Option<capability::Bandwidth>,
}

/// The limits of an attachment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Towards the container.
    pub ingress: Option<Limit>,
    /// From the container.
    pub egress: Option<Limit>,
}

impl Limits {
    /// The limits that a configuration asks for. Those of the runtime count when it has no key of its own.
    ///
    /// # Errors
    ///
    /// When a rate stands there without a burst or the other way round, or one that no limit can have. Code 7.
    pub fn new(config: &Config, runtime: &Runtime) -> Result<Self> {
        let Config { ingress_rate, ingress_burst, egress_rate, egress_burst } = *config;
        let own = [ingress_rate, ingress_burst, egress_rate, egress_burst];
        let (place, given) = match &runtime.bandwidth {
            Some(given) if own.iter().all(Option::is_none) => {
                let given = [given.ingress_rate, given.ingress_burst, given.egress_rate, given.egress_burst];
                ("runtimeConfig.bandwidth.", given)
            }
            _ => ("", own),
        };
        let [ingress_rate, ingress_burst, egress_rate, egress_burst] = given.map(Option::unwrap_or_default);
        Ok(Self {
            ingress: limit(&format!("{place}ingress"), ingress_rate, ingress_burst)?,
            egress: limit(&format!("{place}egress"), egress_rate, egress_burst)?,
        })
    }

    /// Whether nothing is limited.
    pub fn is_none(&self) -> bool {
        self.ingress.is_none() && self.egress.is_none()
    }
}

/// A limit of bits a second and bits; `key` is what the keys begin with.
fn limit(key: &str, rate: u64, burst: u64) -> Result<Option<Limit>> {
    let told = format!("{key}Rate is {rate} and {key}Burst is {burst}");
    let refused = |why: &str| {
        let msg = format!("{why}: {told}");
        Err(Error::new(ErrorCode::INVALID_NETWORK_CONFIG, msg))
    };
    // Below that, the kernel counts bytes.
    let (rate, burst) = match (rate, burst) {
        (0, 0) => return Ok(None),
        (_, 0) => return refused("if rate is set, burst must also be set"),
        (0, _) => return refused("if burst is set, rate must also be set"),
        (0..8, _) | (_, 0..8) => return refused("rate and burst must be at least 8 bits"),
        (rate, burst) => (rate / 8, burst / 8),
    };
    match u32::try_from(burst) {
        Ok(burst) if burst < u32::MAX => Ok(Some(Limit { rate, burst })),
        _ => refused(&format!(
            "burst cannot be more than 4GB, that is less than {} bits",
            u64::from(u32::MAX) * 8
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[allow(clippy::needless_pass_by_value, reason = "the keys are written where it is called")]
    fn limits(keys: Value, given: Value) -> Result<Limits> {
        let runtime = Runtime { bandwidth: serde_json::from_value(given).unwrap() };
        Limits::new(&serde_json::from_value(keys).unwrap(), &runtime)
    }

    #[test]
    fn any_key_hides_what_the_runtime_gives() {
        let given = json!({"ingressRate": 8000, "ingressBurst": 80});
        let of_runtime = limits(json!({}), given.clone()).unwrap();
        assert_eq!(of_runtime, Limits { ingress: Some(Limit { rate: 1000, burst: 10 }), egress: None });
        let own = json!({"egressRate": 16000, "egressBurst": 160});
        let of_keys = limits(own, given.clone()).unwrap();
        assert_eq!(of_keys, Limits { ingress: None, egress: Some(Limit { rate: 2000, burst: 20 }) });
        assert!(limits(json!({"ingressRate": 0}), given).unwrap().is_none());
        assert!(limits(json!({}), Value::Null).unwrap().is_none());
    }

    #[test]
    fn c79_rate_and_burst_come_together_and_within_bounds() {
        for (keys, told) in [
            (
                json!({"ingressRate": 10_000_000}),
                "if rate is set, burst must also be set: ingressRate is 10000000 and ingressBurst is 0",
            ),
            (json!({"egressBurst": 5}), "if burst is set, rate must also be set: egressRate is 0"),
            (
                json!({"egressRate": 8, "egressBurst": 34_359_738_360_u64}),
                "burst cannot be more than 4GB, that is less than 34359738360 bits: egressRate is 8",
            ),
            (
                json!({"egressRate": 7, "egressBurst": 800}),
                "rate and burst must be at least 8 bits: egressRate is 7",
            ),
            (
                json!({"egressRate": 800, "egressBurst": 7}),
                "rate and burst must be at least 8 bits: egressRate is",
            ),
        ] {
            let error = limits(keys.clone(), Value::Null).unwrap_err().to_object();
            assert!(error.msg.starts_with(told), "{error}");
            assert_eq!(error.code(), ErrorCode::INVALID_NETWORK_CONFIG);
            let error = limits(json!({}), keys).unwrap_err().to_object();
            assert!(error.msg.contains("runtimeConfig.bandwidth."), "{error}");
        }
        let most = json!({"egressRate": 8, "egressBurst": 34_359_738_359_u64});
        assert_eq!(limits(most, Value::Null).unwrap().egress.unwrap().burst, u32::MAX - 1);
    }
}
