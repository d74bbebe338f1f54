//! Operations whose methods are written by hand, as a user calls them.

use std::collections::BTreeMap;

use iii_sandbox::*;
use serde_json::Value;

use crate::args::{arg, id, key, options, sandbox, value};

pub async fn call(api: &Api, name: &str, args: &Value) -> Result<Option<Value>> {
    let config = || Some(api.http().config().clone());
    Ok(Some(match name {
        "sandbox_create" => {
            let options = SandboxCreateOptions { idempotency_key: key(args), ..options(args)? };
            value(create_sandbox(options, config()).await?.info)?
        }
        "sandbox_get" => value(get_sandbox(&id(args)?, config()).await?.info)?,
        "sandbox_renew" => {
            let mut sandbox = sandbox(api, args).await?;
            sandbox.renew(arg(args, "expiresAt")?).await?;
            value(sandbox.info)?
        }
        "env_set" => {
            let vars: BTreeMap<String, String> = arg(args, "vars")?;
            value(EnvManager::of(api, &id(args)?).set(vars).await?)?
        }
        _ => return Ok(None),
    }))
}
