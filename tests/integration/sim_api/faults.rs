//! Faults between client and server.

use std::time::{Duration, Instant};

use reqwest::Method;
use rolldeck::sim::api::{ApiFailure, ApiFault};
use serde_json::{Value, json};

use super::support::{Api, MAPS};

fn once(verb: &'static str, failure: ApiFailure) -> ApiFault {
    ApiFault { verb: Some(verb), resource: Some("configmaps"), times: 1, failure }
}

#[tokio::test]
async fn a_busy_server_says_when_to_come_back() {
    let api = Api::start().await;
    api.server.inject(ApiFault { times: 2, ..once("list", ApiFailure::TooManyRequests { retry_after_secs: 3 }) });
    for _ in 0..2 {
        let response = api.raw(Method::GET, MAPS, &[], Vec::new()).await;
        assert_eq!((response.status().as_u16(), response.headers()["retry-after"].to_str().unwrap()), (429, "3"));
        let status: Value = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
        assert_eq!(
            (&status["reason"], &status["details"]["retryAfterSeconds"]),
            (&json!("TooManyRequests"), &json!(3))
        );
    }
    assert_eq!(api.get(MAPS).await.0, 200);
}

#[tokio::test]
async fn broken_servers_answer_5xx_only_where_they_are_broken() {
    let api = Api::start().await;
    api.server.inject(once("create", ApiFailure::InternalError));
    api.server.inject(once("delete", ApiFailure::Unavailable));
    assert_eq!(api.get(MAPS).await.0, 200);
    assert_eq!(api.post(MAPS, &json!({"metadata": {"name": "a"}})).await.0, 500);
    assert_eq!(api.post(MAPS, &json!({"metadata": {"name": "a"}})).await.0, 201);
    assert_eq!(api.delete(&format!("{MAPS}/a"), &Value::Null).await.0, 503);
    api.server.inject(once("delete", ApiFailure::Unavailable));
    api.server.clear_faults();
    assert_eq!(api.delete(&format!("{MAPS}/a"), &Value::Null).await.0, 200);
}

#[tokio::test]
async fn a_lost_answer_was_carried_out_and_a_lost_request_was_not() {
    let api = Api::start().await;
    for (name, failure, there) in [("a", ApiFailure::LostRequest, 404), ("b", ApiFailure::LostAnswer, 200)] {
        api.server.inject(once("create", failure));
        let body = json!({"metadata": {"name": name}}).to_string().into_bytes();
        let answer = api.try_raw(Method::POST, MAPS, &[("content-type", "application/json")], body).await;
        assert!(answer.is_err(), "the answer must not arrive");
        assert_eq!(api.get(&format!("{MAPS}/{name}")).await.0, there);
    }
}

#[tokio::test]
async fn latency_delays_every_answer() {
    let api = Api::start().await;
    api.server.inject(once("list", ApiFailure::Delay(Duration::from_millis(120))));
    let began = Instant::now();
    api.get(MAPS).await;
    assert!(began.elapsed() >= Duration::from_millis(120));
}
