//! Reads requests: the path, the query and the body.
//!
//! ```text
//!   /api/v1/namespaces/NS/pods/NAME/eviction?dryRun=All
//!        │             │   │    │      └ subresource
//!        └ group, version  │    └ name
//!                      namespace, resource
//! ```

use axum::body::Bytes;
use http::{Method, Uri};
use serde_json::Value;

use crate::sim::world::kind::{Kind, ResourceScope};

use super::protobuf;
use super::status::{Answer, ApiRefusal};

/// The parts of a request that its answer depends on.
#[derive(Debug)]
pub(super) struct ApiRequest {
    pub(super) method: Method,
    pub(super) query: Query,
    pub(super) accept: String,
    pub(super) accepts_gzip: bool,
    pub(super) content_type: String,
    /// The first word of the user agent: the field manager, unless the query names one.
    pub(super) agent: String,
    pub(super) body: Bytes,
}

impl ApiRequest {
    /// The body as JSON, from protobuf, YAML or JSON; an empty body is null.
    ///
    /// # Errors
    /// 400 when it cannot be read.
    pub(super) fn json(&self) -> Answer<Value> {
        if self.body.is_empty() {
            return Ok(Value::Null);
        }
        if protobuf::is_protobuf(&self.body) {
            return protobuf::to_json(&self.body).map_err(ApiRefusal::bad_request);
        }
        if self.content_type.contains("yaml") {
            let text = String::from_utf8_lossy(&self.body);
            return serde_saphyr::from_str(&text)
                .map_err(|error| ApiRefusal::bad_request(format!("error decoding YAML: {error}")));
        }
        serde_json::from_slice(&self.body)
            .map_err(|error| ApiRefusal::bad_request(format!("the object provided is unrecognized: {error}")))
    }

    /// The field manager.
    pub(super) fn manager(&self) -> &str {
        self.query.get("fieldManager").unwrap_or(if self.agent.is_empty() { "unknown" } else { &self.agent })
    }
}

/// The thing that a path names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum RequestTarget {
    /// Objects of a kind.
    Objects(ObjectPath),
    /// A question about the caller's own rights, or who they are.
    Review(Review),
    /// The parts of any other path: discovery, health, schemas.
    Other(Vec<String>),
}

/// A path to objects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ObjectPath {
    pub(super) kind: Kind,
    /// Empty: all namespaces, or a kind without namespaces.
    pub(super) namespace: String,
    /// Empty: the collection.
    pub(super) name: String,
    /// Empty: the object itself.
    pub(super) subresource: String,
}

/// Resources without stored objects: the answer to a POST is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Review {
    /// Whether the caller may do one thing.
    Access,
    /// The list of things that the caller may do.
    Rules,
    /// The caller's own name.
    Identity,
}

impl Review {
    /// All of them.
    pub(super) const ALL: [Self; 3] = [Self::Access, Self::Rules, Self::Identity];

    /// `(group, kind, resource)`.
    pub(super) const fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Access => ("authorization.k8s.io", "SelfSubjectAccessReview", "selfsubjectaccessreviews"),
            Self::Rules => ("authorization.k8s.io", "SelfSubjectRulesReview", "selfsubjectrulesreviews"),
            Self::Identity => ("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews"),
        }
    }
}

/// Reads a path.
///
/// # Errors
/// 404 for resources that are not served.
pub(super) fn target(path: &str) -> Answer<RequestTarget> {
    let parts: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(percent_decoded).collect();
    let words: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (group, rest) = match words.as_slice() {
        ["api", "v1", rest @ ..] if !rest.is_empty() => ("", rest),
        ["apis", group, "v1", rest @ ..] if !rest.is_empty() => (*group, rest),
        _ => return Ok(RequestTarget::Other(parts)),
    };
    if let [resource] = rest
        && let Some(review) = Review::ALL.into_iter().find(|it| it.words().0 == group && it.words().2 == *resource)
    {
        return Ok(RequestTarget::Review(review));
    }
    let (namespace, rest) = match rest {
        // `namespaces/x`, `namespaces/x/status` and `namespaces/x/finalize` are about the namespace itself.
        ["namespaces", _, "status" | "finalize"] | ["namespaces"] | ["namespaces", _] => ("", rest),
        ["namespaces", namespace, rest @ ..] => (*namespace, rest),
        rest => ("", rest),
    };
    let found = |plural: &&str| {
        Kind::ALL.into_iter().find(|kind| kind.words().group == group && kind.words().plural == *plural)
    };
    let [plural, rest @ ..] = rest else { return Err(ApiRefusal::no_such_path()) };
    let Some(kind) = found(plural) else { return Err(ApiRefusal::no_such_path()) };
    let (name, subresource) = match rest {
        [] => ("", ""),
        [name] => (*name, ""),
        [name, subresource] => (*name, *subresource),
        _ => return Err(ApiRefusal::no_such_path()),
    };
    let scope = kind.words().scope;
    if (scope == ResourceScope::Cluster) != namespace.is_empty()
        && (scope == ResourceScope::Cluster || !name.is_empty())
    {
        return Err(ApiRefusal::no_such_path());
    }
    Ok(RequestTarget::Objects(ObjectPath {
        kind,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        subresource: subresource.to_owned(),
    }))
}

/// The parameters of a query string.
#[derive(Clone, Debug, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads the query of a URI.
    ///
    /// # Errors
    /// 400 when the query cannot be read.
    pub(super) fn of(uri: &Uri) -> Answer<Self> {
        let pairs = axum::extract::Query::try_from_uri(uri);
        pairs.map(|pairs| Self(pairs.0)).map_err(|error| ApiRefusal::bad_request(error.to_string()))
    }

    /// The value of `key`, unless it is empty.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// All values of `key`.
    pub(super) fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// Whether `key` says yes, as Go's `strconv.ParseBool` understands it.
    pub(super) fn is_set(&self, key: &str) -> bool {
        matches!(self.get(key), Some("1" | "t" | "T" | "true" | "TRUE" | "True"))
    }

    /// The value of `key` as a number.
    ///
    /// # Errors
    /// 400 when the value is no number.
    pub(super) fn number(&self, key: &str) -> Answer<Option<u64>> {
        let parsed = self.get(key).map(|text| {
            text.parse().map_err(|error| ApiRefusal::bad_request(format!("{key}: Invalid value: \"{text}\": {error}")))
        });
        parsed.transpose()
    }
}

fn percent_decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(kind: Kind, namespace: &str, name: &str, subresource: &str) -> RequestTarget {
        let [namespace, name, subresource] = [namespace, name, subresource].map(str::to_owned);
        RequestTarget::Objects(ObjectPath { kind, namespace, name, subresource })
    }

    #[test]
    fn paths_name_what_kubernetes_means_by_them() {
        for (path, want) in [
            ("/api/v1/pods", objects(Kind::Pod, "", "", "")),
            ("/api/v1/namespaces/edge/pods/a/eviction", objects(Kind::Pod, "edge", "a", "eviction")),
            ("/api/v1/namespaces", objects(Kind::Namespace, "", "", "")),
            ("/api/v1/namespaces/edge", objects(Kind::Namespace, "", "edge", "")),
            ("/api/v1/namespaces/edge/status", objects(Kind::Namespace, "", "edge", "status")),
            ("/api/v1/nodes/n%31/status", objects(Kind::Node, "", "n1", "status")),
            ("/apis/apps/v1/namespaces/edge/daemonsets", objects(Kind::DaemonSet, "edge", "", "")),
            ("/apis/coordination.k8s.io/v1/leases", objects(Kind::Lease, "", "", "")),
            ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", RequestTarget::Review(Review::Access)),
            ("/apis/apps/v1", RequestTarget::Other(["apis", "apps", "v1"].map(str::to_owned).to_vec())),
        ] {
            assert_eq!(target(path).unwrap(), want, "{path}");
        }
    }

    #[test]
    fn paths_that_are_not_served_are_not_found() {
        for path in [
            "/api/v1/namespaces/edge/nodes",
            "/api/v1/pods/a",
            "/apis/apps/v1/deployments",
            "/apis/apps/v1/pods",
            "/api/v1/namespaces/edge/pods/a/b/c",
        ] {
            assert!(target(path).is_err(), "{path}");
        }
    }

    #[test]
    fn queries_are_decoded() {
        let uri = "/x?labelSelector=a%3Db%2Cc+in+(d)&watch=1&limit=x&empty=".parse().unwrap();
        let query = Query::of(&uri).unwrap();
        assert_eq!(query.get("labelSelector"), Some("a=b,c in (d)"));
        assert!(query.is_set("watch") && !query.is_set("limit"));
        assert_eq!(query.get("empty"), None);
        assert!(query.number("limit").is_err());
    }
}
