//! Patches: JSON patch, merge patch and strategic merge patch, on the JSON form of an object.

use serde_json::Value;

use super::schema::OBJECT;
use super::status::{Answer, ApiRefusal};
use super::strategic::{self, PatchError};

/// The kinds of patch, by content type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PatchKind {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchKind {
    /// The kind that a content type names.
    ///
    /// # Errors
    /// 415 for any other.
    pub(super) fn of(content_type: &str) -> Answer<Self> {
        match content_type.split(';').next().unwrap_or_default().trim() {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" => Ok(Self::Strategic),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            other => Err(ApiRefusal::unsupported_media_type(format!(
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json-patch+json, application/merge-patch+json, \
                 application/strategic-merge-patch+json, application/apply-patch+yaml; got `{other}`"
            ))),
        }
    }
}

/// Reads a patch's body; apply configurations may be YAML.
///
/// # Errors
/// 400 when the body is not JSON, or for an apply configuration neither JSON nor YAML.
pub(super) fn read(kind: PatchKind, body: &[u8]) -> Answer<Value> {
    let json = serde_json::from_slice(body);
    let error = match (json, kind) {
        (Ok(value), _) => return Ok(value),
        (Err(_), PatchKind::Apply) => {
            let text = String::from_utf8_lossy(body);
            return serde_saphyr::from_str(&text)
                .map_err(|error| ApiRefusal::bad_request(format!("error decoding YAML: {error}")));
        }
        (Err(error), _) => error,
    };
    Err(ApiRefusal::bad_request(format!("error decoding patch: {error}")))
}

/// Patches `object`. Server-side apply is not done here, because it depends on the managers of the fields.
///
/// # Errors
/// 400 for a malformed patch, 422 for a patch that cannot be carried out, and 500 where the API server answers 500 too.
pub(super) fn patched(kind: PatchKind, mut object: Value, patch: Value) -> Answer<Value> {
    match kind {
        PatchKind::Json => {
            const MOST: usize = 10_000;
            let patch: json_patch::Patch = serde_json::from_value(patch)
                .map_err(|error| ApiRefusal::bad_request(format!("error decoding patch: {error}")))?;
            if patch.0.len() > MOST {
                let message =
                    format!("The allowed maximum operations in a JSON patch is {MOST}, got {}", patch.0.len());
                return Err(ApiRefusal::unprocessable(message));
            }
            json_patch::patch(&mut object, &patch).map_err(|error| ApiRefusal::unprocessable(error.to_string()))?;
            Ok(object)
        }
        PatchKind::Merge => {
            if !patch.is_object() {
                return Err(ApiRefusal::bad_request("a merge patch must be an object"));
            }
            json_patch::merge(&mut object, &patch);
            Ok(object)
        }
        PatchKind::Strategic | PatchKind::Apply => {
            let (Value::Object(object), Value::Object(patch)) = (object, patch) else {
                return Err(ApiRefusal::bad_request("a strategic merge patch must be an object"));
            };
            let merged = strategic::apply(object, patch, &OBJECT).map_err(|error| match error {
                PatchError::Format(words) => ApiRefusal::bad_request(words),
                PatchError::Content(words) => ApiRefusal::unexplained(words),
            })?;
            Ok(Value::Object(merged))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn content_types_decide() {
        assert_eq!(PatchKind::of("application/merge-patch+json; charset=utf-8").unwrap(), PatchKind::Merge);
        assert_eq!(PatchKind::of("application/json").unwrap_err().status()["code"], 415);
    }

    #[test]
    fn a_failed_test_is_422_and_nonsense_is_400() {
        let object = json!({"a": 1});
        let test = json!([{"op": "test", "path": "/a", "value": 2}]);
        assert_eq!(patched(PatchKind::Json, object.clone(), test).unwrap_err().status()["code"], 422);
        let nonsense = json!([{"op": "swap", "path": "/a"}]);
        assert_eq!(patched(PatchKind::Json, object.clone(), nonsense).unwrap_err().status()["code"], 400);
        assert_eq!(patched(PatchKind::Merge, object.clone(), json!([1])).unwrap_err().status()["code"], 400);
        let replaced = patched(PatchKind::Json, object, json!([{"op": "replace", "path": "/a", "value": 3}]));
        assert_eq!(replaced.unwrap(), json!({"a": 3}));
    }

    #[test]
    fn apply_configurations_may_be_yaml() {
        assert_eq!(
            read(PatchKind::Apply, b"kind: Pod\nspec: {a: 1}\n").unwrap(),
            json!({"kind": "Pod", "spec": {"a": 1}})
        );
        assert!(read(PatchKind::Merge, b"kind: Pod").is_err());
    }
}
