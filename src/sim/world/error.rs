//! The refusals of a Kubernetes API server: a reason, its HTTP code, and Kubernetes' own message.

use std::fmt;

use crate::engine::model::Str;

use super::kind::Kind;

/// A refusal, as a `Status` object would carry it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// The API's reason.
    pub reason: Reason,
    /// The message, in Kubernetes' words.
    pub message: String,
    /// The object that the request was about; its name is empty for requests about a whole kind.
    pub about: Option<(Kind, Str)>,
    /// For [`Reason::Invalid`]: the fields that are wrong.
    pub causes: Vec<FieldError>,
    /// For [`Reason::TooManyRequests`] and similar reasons: the seconds to wait.
    pub retry_after_secs: Option<u32>,
}

/// One field that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldError {
    /// The field's path: `spec.selector`.
    pub field: String,
    /// `FieldValueInvalid`, `FieldValueForbidden`, `FieldValueRequired`.
    pub reason: &'static str,
    /// The message about the field.
    pub message: String,
}

/// Kubernetes' `metav1.StatusReason`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Reason {
    /// 400.
    BadRequest,
    /// 401.
    Unauthorized,
    /// 403.
    Forbidden,
    /// 404.
    NotFound,
    /// 405.
    MethodNotAllowed,
    /// 409: an object of that name exists already.
    AlreadyExists,
    /// 409: the object changed, or a precondition does not hold.
    Conflict,
    /// 410: the resource version is older than the oldest kept change.
    Expired,
    /// 422.
    Invalid,
    /// 429.
    TooManyRequests,
    /// 500.
    InternalError,
    /// 503.
    ServiceUnavailable,
    /// 504.
    Timeout,
}

impl Reason {
    /// Its HTTP status code.
    pub const fn code(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::AlreadyExists | Self::Conflict => 409,
            Self::Expired => 410,
            Self::Invalid => 422,
            Self::TooManyRequests => 429,
            Self::InternalError => 500,
            Self::ServiceUnavailable => 503,
            Self::Timeout => 504,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl ApiError {
    /// A refusal with a message of its own.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), about: None, causes: Vec::new(), retry_after_secs: None }
    }

    fn about(reason: Reason, kind: Kind, name: &str, message: String) -> Self {
        Self { about: Some((kind, name.into())), ..Self::new(reason, message) }
    }

    /// No object has this name.
    pub fn not_found(kind: Kind, name: &str) -> Self {
        Self::about(Reason::NotFound, kind, name, format!("{kind} \"{name}\" not found"))
    }

    /// An object has this name already.
    pub fn already_exists(kind: Kind, name: &str) -> Self {
        Self::about(Reason::AlreadyExists, kind, name, format!("{kind} \"{name}\" already exists"))
    }

    /// The object's resource version is not the one that the writer had read.
    pub fn modified(kind: Kind, name: &str) -> Self {
        Self::conflict(
            kind,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    /// The request cannot be carried out on the object in its present state.
    pub fn conflict(kind: Kind, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {kind} \"{name}\": {why}");
        Self::about(Reason::Conflict, kind, name, message)
    }

    /// The request is forbidden.
    pub fn forbidden(kind: Kind, name: &str, why: &str) -> Self {
        Self::about(Reason::Forbidden, kind, name, format!("{kind} \"{name}\" is forbidden: {why}"))
    }

    /// Fields of the object are invalid.
    pub fn invalid(kind: Kind, name: &str, causes: Vec<FieldError>) -> Self {
        let words = kind.words();
        let listed: Vec<String> = causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        let listed = if listed.len() == 1 { listed.concat() } else { format!("[{}]", listed.join(", ")) };
        let group = if words.group.is_empty() { String::new() } else { format!(".{}", words.group) };
        let message = format!("{}{group} \"{name}\" is invalid: {listed}", words.kind);
        Self { causes, ..Self::about(Reason::Invalid, kind, name, message) }
    }

    /// The version `asked` is older than `oldest`, the oldest one that the log still reaches.
    pub fn expired(asked: u64, oldest: u64) -> Self {
        Self::new(Reason::Expired, format!("too old resource version: {asked} ({oldest})"))
    }

    /// The client should try again later.
    pub fn too_many_requests(retry_after_secs: u32) -> Self {
        let message = "the server has received too many requests and has asked us to try again later";
        Self { retry_after_secs: Some(retry_after_secs), ..Self::new(Reason::TooManyRequests, message) }
    }
}

impl FieldError {
    /// The field's value is invalid.
    pub fn invalid(field: &str, message: impl Into<String>) -> Self {
        Self { field: field.into(), reason: "FieldValueInvalid", message: message.into() }
    }

    /// The field may not have this value.
    pub fn forbidden(field: &str, message: impl Into<String>) -> Self {
        Self { field: field.into(), reason: "FieldValueForbidden", message: message.into() }
    }

    /// The field is missing.
    pub fn required(field: &str, message: impl Into<String>) -> Self {
        Self { field: field.into(), reason: "FieldValueRequired", message: message.into() }
    }
}
