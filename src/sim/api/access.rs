//! Authentication and authorisation: bearer tokens, impersonation, and simple rules.
//!
//! While no user is configured, everybody may do everything. Otherwise a request with an unknown token gets 401. A request without a
//! token also gets 401, unless [`Users::anonymous`] names the user that the server takes for its sender.

use http::{HeaderMap, header};
use serde_json::{Value, json};

use super::request::Review;
use super::status::{Answer, ApiRefusal};

/// The users that the server knows.
#[derive(Clone, Debug, Default)]
pub struct Users {
    /// All users. While the list is empty, everybody may do everything.
    pub known: Vec<User>,
    /// The name of the user that the server takes for the sender of a request without a token.
    ///
    /// kubectl never sends a token over plain HTTP. When this is set, `kubectl --as NAME` can still act as one of the users.
    pub anonymous: Option<String>,
}

/// A user and what they may do.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct User {
    /// The name, as in `User "jane" cannot list resource …`.
    pub name: String,
    /// The bearer token.
    pub token: String,
    /// The requests that the user may make; empty: all.
    pub allow: Vec<Rule>,
    /// The requests that the user may not make, even if `allow` covers them.
    pub deny: Vec<Rule>,
}

/// A set of requests. An empty list in a field means all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rule {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verbs: Vec<String>,
    /// `pods`, `pods/eviction`, …, whatever their group.
    pub resources: Vec<String>,
    /// Namespaces. If any is named, the rule does not cover requests at the cluster scope.
    pub namespaces: Vec<String>,
}

impl Rule {
    /// The rule for these verbs on these resources, everywhere.
    pub fn new<const V: usize, const R: usize>(verbs: [&str; V], resources: [&str; R]) -> Self {
        Self {
            verbs: verbs.map(str::to_owned).to_vec(),
            resources: resources.map(str::to_owned).to_vec(),
            ..Self::default()
        }
    }

    fn covers(&self, asked: &ResourceAttributes<'_>) -> bool {
        let holds = |list: &[String], value: &str| list.is_empty() || list.iter().any(|item| item == value);
        holds(&self.verbs, asked.verb)
            && holds(&self.resources, &asked.resource)
            && holds(&self.namespaces, asked.namespace)
    }

    fn to_json(&self) -> Value {
        let or_all = |list: &[String]| if list.is_empty() { json!(["*"]) } else { json!(list) };
        json!({"verbs": or_all(&self.verbs), "apiGroups": ["*"], "resources": or_all(&self.resources)})
    }
}

/// The action that a request asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ResourceAttributes<'a> {
    pub(super) verb: &'a str,
    pub(super) group: &'a str,
    /// With its subresource: `pods/eviction`.
    pub(super) resource: String,
    /// Empty: at the cluster scope.
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
}

/// The user that a request is made as.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Caller {
    name: String,
    /// The user whose rules apply; `None`: the caller may do everything.
    rules: Option<User>,
}

impl Users {
    /// The caller of a request with these headers.
    ///
    /// # Errors
    /// 401 when no user fits the token, or its absence; 403 when the user may not impersonate the one that the request names.
    pub(super) fn caller(&self, headers: &HeaderMap) -> Answer<Caller> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let impersonated = text(header::HeaderName::from_static("impersonate-user"));
        if self.known.is_empty() {
            return Ok(Caller { name: impersonated.unwrap_or("rolldeck-demo").to_owned(), rules: None });
        }
        let token = text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        let user = match token {
            Some(token) => self.known.iter().find(|user| user.token == token),
            None => self.anonymous.as_ref().and_then(|name| self.known.iter().find(|user| user.name == *name)),
        };
        let user = user.ok_or_else(ApiRefusal::unauthorized)?;
        let caller = Caller { name: user.name.clone(), rules: Some(user.clone()) };
        let Some(name) = impersonated else { return Ok(caller) };
        let asked =
            ResourceAttributes { verb: "impersonate", group: "", resource: "users".into(), namespace: "", name };
        caller.check(&asked)?;
        let nobody = || User { allow: vec![Rule::new(["none"], ["none"])], ..User::default() };
        let rules = self.known.iter().find(|user| user.name == name).cloned().unwrap_or_else(nobody);
        Ok(Caller { name: name.to_owned(), rules: Some(rules) })
    }
}

impl Caller {
    /// The caller's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether the caller may do this.
    pub(super) fn is_allowed(&self, asked: &ResourceAttributes<'_>) -> bool {
        // Every caller may create a review, which asks about the caller's own rights.
        if asked.verb == "create" && Review::ALL.into_iter().any(|review| review.words().2 == asked.resource) {
            return true;
        }
        self.rules.as_ref().is_none_or(|user| {
            (user.allow.is_empty() || user.allow.iter().any(|rule| rule.covers(asked)))
                && !user.deny.iter().any(|rule| rule.covers(asked))
        })
    }

    /// Refuses an action that the caller may not take.
    ///
    /// # Errors
    /// 403, in Kubernetes' words.
    pub(super) fn check(&self, asked: &ResourceAttributes<'_>) -> Answer<()> {
        if self.is_allowed(asked) {
            return Ok(());
        }
        let scope = match asked.namespace {
            "" => "at the cluster scope".to_owned(),
            namespace => format!("in the namespace \"{namespace}\""),
        };
        let what = format!(
            "User \"{}\" cannot {} resource \"{}\" in API group \"{}\" {scope}",
            self.name, asked.verb, asked.resource, asked.group
        );
        let resource = asked.resource.split('/').next().unwrap_or_default();
        Err(ApiRefusal::forbidden(asked.group, resource, asked.name, &what))
    }

    /// The actions that the caller may take, in the form of a rules review. That form cannot express `deny` rules, so they are left out.
    pub(super) fn rules(&self) -> Vec<Value> {
        let allowed = self.rules.iter().flat_map(|user| &user.allow);
        let rules: Vec<Value> = allowed.map(Rule::to_json).collect();
        if rules.is_empty() { vec![Rule::default().to_json()] } else { rules }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked<'a>(verb: &'a str, resource: &str, namespace: &'a str) -> ResourceAttributes<'a> {
        ResourceAttributes { verb, group: "", resource: resource.into(), namespace, name: "" }
    }

    fn users() -> Users {
        let jane = User {
            name: "jane".into(),
            token: "t1".into(),
            deny: vec![Rule::new(["list", "watch"], ["nodes"])],
            ..User::default()
        };
        let reader = User {
            name: "reader".into(),
            token: "t2".into(),
            allow: vec![Rule { namespaces: vec!["edge".into()], ..Rule::new(["get", "list", "watch"], []) }],
            ..User::default()
        };
        Users { known: vec![jane, reader], anonymous: None }
    }

    fn caller(users: &Users, pairs: &[(&'static str, &'static str)]) -> Answer<Caller> {
        let headers = pairs.iter().map(|(name, value)| (header::HeaderName::from_static(name), value.parse().unwrap()));
        users.caller(&headers.collect())
    }

    #[test]
    fn tokens_tell_users_apart() {
        let users = users();
        assert_eq!(caller(&users, &[("authorization", "Bearer t1")]).unwrap().name(), "jane");
        for headers in [&[("authorization", "Bearer t9")][..], &[]] {
            assert_eq!(caller(&users, headers).unwrap_err().status()["code"], 401);
        }
        assert!(caller(&Users::default(), &[]).unwrap().is_allowed(&asked("delete", "nodes", "")));
        let known = Users { anonymous: Some("jane".into()), ..users };
        assert_eq!(caller(&known, &[]).unwrap().name(), "jane");
        let headers = [("impersonate-user", "reader")];
        assert!(!caller(&known, &headers).unwrap().is_allowed(&asked("delete", "pods", "edge")));
        assert!(!caller(&known, &[("impersonate-user", "ghost")]).unwrap().is_allowed(&asked("get", "pods", "edge")));
    }

    #[test]
    fn rules_allow_and_deny_in_kubernetes_words() {
        let users = users();
        let jane = caller(&users, &[("authorization", "Bearer t1")]).unwrap();
        assert!(jane.is_allowed(&asked("get", "nodes", "")) && jane.is_allowed(&asked("delete", "pods", "edge")));
        let refusal = jane.check(&asked("list", "nodes", "")).unwrap_err().status();
        let words =
            "nodes is forbidden: User \"jane\" cannot list resource \"nodes\" in API group \"\" at the cluster scope";
        assert_eq!((&refusal["message"], &refusal["code"]), (&json!(words), &json!(403)));
        let reader = caller(&users, &[("authorization", "Bearer t2")]).unwrap();
        assert!(reader.is_allowed(&asked("list", "pods", "edge")));
        assert!(!reader.is_allowed(&asked("list", "pods", "")) && !reader.is_allowed(&asked("delete", "pods", "edge")));
        assert!(reader.is_allowed(&asked("create", "selfsubjectaccessreviews", "")));
    }
}
