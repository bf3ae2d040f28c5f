use proptest::prelude::*;
use serde_json::json;

use super::*;

fn template(spec: Value) -> Template {
    let mut whole = json!({"metadata": {"labels": {"app": "agent"}}});
    whole["spec"] = spec;
    Template::from_json(whole)
}

fn lines(from: Value, to: Value) -> Vec<String> {
    changes(&template(from), &template(to)).iter().map(ToString::to_string).collect()
}

fn agent() -> Value {
    json!({
        "containers": [{
            "name": "agent",
            "image": "r.example/agent:v1",
            "args": ["--a", "--level=info", "--b"],
            "env": [
                {"name": "LOG_LEVEL", "value": "info"},
                {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            ],
            "ports": [{"containerPort": 8080}, {"containerPort": 53, "protocol": "UDP"}],
            "resources": {"limits": {"memory": "128Mi"}, "requests": {"cpu": "50m"}},
            "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 10},
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        }],
        "volumes": [{"name": "data", "hostPath": {"path": "/var/lib/agent"}}],
        "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}, {"operator": "Exists"}],
        "terminationGracePeriodSeconds": 30,
    })
}

/// The agent with one field set, by its JSON pointer.
fn with(pointer: &str, value: Value) -> Value {
    let mut agent = agent();
    *agent.pointer_mut(pointer).unwrap() = value;
    agent
}

#[test]
fn a_changed_field_is_named_as_people_name_it() {
    let of_container = "/containers/0";
    for (pointer, value, line) in [
        ("/image", json!("r.example/agent:v2"), "containers[agent].image: r.example/agent:v1 → r.example/agent:v2"),
        ("/env/0/value", json!("debug"), "containers[agent].env[LOG_LEVEL]: info → debug"),
        ("/env/0/value", json!(""), "containers[agent].env[LOG_LEVEL]: info → \"\""),
        (
            "/env/1/valueFrom/fieldRef/fieldPath",
            json!("status.hostIP"),
            "containers[agent].env[NODE].valueFrom.fieldRef.fieldPath: spec.nodeName → status.hostIP",
        ),
        ("/resources/limits/memory", json!("256Mi"), "containers[agent].resources.limits.memory: 128Mi → 256Mi"),
        ("/readinessProbe/periodSeconds", json!(5), "containers[agent].readinessProbe.periodSeconds: 10 → 5"),
        (
            "/readinessProbe/httpGet/port",
            json!("8080"),
            "containers[agent].readinessProbe.httpGet.port: 8080 → \"8080\"",
        ),
        ("/args/1", json!("--level=debug"), "containers[agent].args[1]: --level=info → --level=debug"),
        ("/ports/0", json!({"containerPort": 8080, "name": "http"}), "containers[agent].ports[8080].name: added http"),
    ] {
        assert_eq!(lines(agent(), with(&format!("{of_container}{pointer}"), value)), [line]);
    }
    assert_eq!(
        lines(agent(), with("/tolerations/0/effect", json!("NoExecute"))),
        ["tolerations[a:NoExecute]: added", "tolerations[a:NoSchedule]: removed"]
    );
}

#[test]
fn what_comes_and_goes_is_one_line_each() {
    let mut more = agent();
    more["containers"].as_array_mut().unwrap().push(json!({"name": "side", "image": "side:v1", "args": ["-x"]}));
    more["containers"][0]["env"].as_array_mut().unwrap().push(json!({"name": "PROXY", "value": "http://p:3128"}));
    more["containers"][0]["args"].as_array_mut().unwrap().insert(1, json!("--new"));
    more["nodeSelector"] = json!({"kubernetes.io/os": "linux"});
    more["volumes"] = json!([]);
    more["hostNetwork"] = json!(true);
    assert_eq!(
        lines(agent(), more.clone()),
        [
            "containers[agent].args[1]: added --new",
            "containers[agent].env[PROXY]: added http://p:3128",
            "containers[side]: added, image side:v1",
            "hostNetwork: added true",
            "nodeSelector[kubernetes.io/os]: added linux",
            "volumes[data]: removed {\"hostPath\":{\"path\":\"/var/lib/agent\"}}",
        ]
    );
    assert_eq!(lines(more, agent()).len(), 6, "and the same the other way round");
}

#[test]
fn images_come_first_and_labels_of_pods_are_no_less_a_change() {
    let from = Template::from_json(json!({"metadata": {"labels": {"app": "a"}}, "spec": {
        "affinity": {"x": 1}, "containers": [{"name": "a", "image": "a:1"}]}}));
    let to = Template::from_json(
        json!({"metadata": {"labels": {"app": "a"}, "annotations": {"prometheus.io/scrape": "true"}}, "spec": {
        "affinity": {"x": 2}, "containers": [{"name": "a", "image": "a:2"}]}}),
    );
    let paths: Vec<String> = changes(&from, &to).into_iter().map(|change| change.path).collect();
    assert_eq!(paths, ["containers[a].image", "metadata.annotations[prometheus.io/scrape]", "affinity.x"]);
}

#[test]
fn what_servers_of_other_versions_add_is_no_change() {
    let plain = json!({"metadata": {"labels": {"app": "a"}}, "spec": {"containers": []}});
    let stored = json!({"$patch": "replace", "metadata": {"labels": {"app": "a"}, "creationTimestamp": null},
                        "spec": {"containers": []}});
    assert_eq!(changes(&Template::from_json(plain), &Template::from_json(stored)), []);
}

#[test]
fn only_the_order_is_a_change_of_its_own() {
    let mut turned = agent();
    turned["containers"][0]["env"].as_array_mut().unwrap().reverse();
    assert_eq!(lines(agent(), turned), ["containers[agent].env: order LOG_LEVEL, NODE → NODE, LOG_LEVEL"]);
}

#[test]
fn a_variable_that_is_named_twice_is_told_by_its_place() {
    let twice = |last: &str| {
        json!({"containers": [{"name": "a", "env": [
            {"name": "X", "value": "1"}, {"name": "X", "value": last}]}]})
    };
    assert_eq!(lines(twice("2"), twice("3")), ["containers[a].env[1].value: 2 → 3"]);
}

#[test]
fn of_long_values_the_place_where_they_differ_is_shown() {
    let script = |level: &str| format!("{}level={level}\n{}", "echo one\n".repeat(50), "echo two\n".repeat(50));
    let said = lines(json!({"x": script("info")}), json!({"x": script("debug")}));
    assert!(said[0].contains("level=info") && said[0].contains("level=debug"), "{said:?}");
    assert!(said[0].chars().count() < 400, "{said:?}");
}

#[test]
fn where_there_is_little_room_it_is_the_difference_that_is_shown() {
    let with_tag = |tag: &str| json!({"containers": [{"name": "agent", "image": format!("registry.factory.example/edge/agent:{tag}")}]});
    let change = &changes(&template(with_tag("v1.8.2")), &template(with_tag("v1.9.0")))[0];
    let long = "containers[agent].image: registry.factory.example/edge/agent:v1.8.2 → registry.factory.example/edge/agent:v1.9.0";
    assert_eq!(change.within(200), long);
    assert_eq!(change.within(70), "containers[agent].image: …/edge/agent:v1.8.2 → …/edge/agent:v1.9.0");
    for most in 0..200 {
        let said = change.within(most);
        assert!(said.contains(".8.2") && said.contains(".9.0"), "{most}: {said}");
        assert!(said.chars().count() <= most.max(60), "{most}: {said}");
    }
}

/// Each pair of elements compared would be two and a half billion: this would not end.
#[test]
fn long_lists_are_compared_within_bounds() {
    let list = |offset: usize| json!({"args": (0..50_000).map(|nth| format!("{}", nth + offset)).collect::<Vec<_>>()});
    let (from, to) = (template(list(0)), template(list(1)));
    assert_eq!(changes(&from, &to).len(), 50_000);
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..5_i64).prop_map(Value::from),
        "[ab]{0,2}".prop_map(Value::from),
    ]
}

/// Any JSON, under names that mean lists with and without keys.
fn json_value() -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        Just("env"),
        Just("containers"),
        Just("args"),
        Just("ports"),
        Just("tolerations"),
        Just("x"),
        Just("a/b"),
        Just("name"),
        Just("value"),
        Just("spec"),
        Just("containerPort"),
        Just("mountPath"),
    ];
    scalar().prop_recursive(4, 40, 5, move |inner| {
        let name = name.clone();
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::btree_map(name.prop_map(str::to_owned), inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// A spec as it is: containers with variables, arguments and limits.
fn spec() -> impl Strategy<Value = Value> {
    let env = proptest::collection::btree_map("[A-C]", "[a-c]{0,2}", 0..4);
    let args = proptest::collection::vec("-[a-d]", 0..5);
    let limits = proptest::collection::btree_map("(cpu|memory)", "[0-9]Mi", 0..3);
    let container = (env, args, limits).prop_map(|(env, args, limits)| {
        let env: Vec<Value> = env.into_iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        json!({"env": env, "args": args, "resources": {"limits": limits}})
    });
    proptest::collection::btree_map("[a-c]", container, 0..4).prop_map(|containers| {
        let containers = containers.into_iter().map(|(name, mut container)| {
            container["name"] = name.into();
            container
        });
        json!({"containers": containers.collect::<Vec<_>>()})
    })
}

/// Every leaf of a value, by a path that no list's key enters.
fn leaves<'a>(value: &'a Value, at: String, found: &mut Vec<(String, &'a Value)>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, field)| leaves(field, format!("{at}/{name}"), found)),
        Value::Array(elements) => {
            for (nth, element) in elements.iter().enumerate() {
                let key = element.get("name").and_then(Value::as_str).map_or(nth.to_string(), str::to_owned);
                leaves(element, format!("{at}/{key}"), found);
            }
        }
        leaf => found.push((at, leaf)),
    }
}

proptest! {
    #[test]
    fn nothing_is_named_if_and_only_if_they_are_equal(from in json_value(), to in json_value()) {
        let (a, b) = (Template::from_json(json!({"spec": from})), Template::from_json(json!({"spec": to})));
        prop_assert_eq!(changes(&a, &b).is_empty(), a == b);
        prop_assert_eq!(changes(&a, &a.clone()), vec![]);
    }

    /// Each changed variable and limit is named with its container, and nothing that is the same.
    #[test]
    fn every_changed_leaf_is_named(from in spec(), to in spec()) {
        let named = lines(from.clone(), to.clone());
        let (mut before, mut after) = (Vec::new(), Vec::new());
        leaves(&from, String::new(), &mut before);
        leaves(&to, String::new(), &mut after);
        for (path, value) in before.iter().chain(&after) {
            let parts: Vec<&str> = path.split('/').skip(1).collect();
            let [_, container, list, rest @ ..] = &parts[..] else { continue };
            let field = match (*list, rest) {
                ("env", [name, "value"]) => format!("env[{name}]"),
                ("resources", [limits, name]) => format!("resources.{limits}.{name}"),
                _ => continue,
            };
            let same = before.contains(&(path.clone(), value)) && after.contains(&(path.clone(), value));
            let whole = format!("containers[{container}]: ");
            let own = format!("containers[{container}].{field}: ");
            let told = named.iter().any(|line| line.starts_with(&own) || line.starts_with(&whole));
            prop_assert_eq!(told, !same || named.iter().any(|line| line.starts_with(&whole)), "{} in {:?}", own, named);
        }
    }

    /// In which order variables stand changes no value: only the order is named.
    #[test]
    fn variables_are_matched_by_name(from in spec()) {
        let mut to = from.clone();
        for container in to["containers"].as_array_mut().unwrap() {
            container["env"].as_array_mut().unwrap().reverse();
        }
        for change in changes(&template(from), &template(to)) {
            prop_assert!(matches!(change.edit, FieldEdit::Reordered { .. }), "{}", change);
        }
    }
}
