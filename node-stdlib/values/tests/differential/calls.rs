//! Every method on values of every kind, and every global function, with arguments of every kind.

use super::{Random, ask, assert_same, case, encode, half_way, powers_of_two, values};
use heddle_values::date_time::Clock;
use heddle_values::methods::{
    self, CALLBACK_ARGUMENTS_MAX, Caller, Exception, Global, Kind, Method, Outcome,
};
use heddle_values::{Text, Value, ops, parse_json};
use serde_json::json;

/// Functions that both sides have: see `functions` in oracle.js.
struct Functions;

impl Caller for Functions {
    fn call(&mut self, function: u32, arguments: &mut [Value]) -> Outcome {
        assert!(arguments.len() <= CALLBACK_ARGUMENTS_MAX);
        let argument = |at: usize| arguments.get(at).unwrap_or(&Value::Undefined);
        match function {
            0 => Ok(argument(0).clone()),
            1 => Ok(argument(1).clone()),
            2 => Ok(ops::greater(argument(0), &Value::Number(1.0))?),
            3 => Ok(ops::subtract(argument(0), argument(1))?),
            4 => Ok(ops::add(argument(0), argument(1))?),
            5 => Ok(ops::greater(argument(0), argument(1))?),
            6 => Ok(vec![1.0.into(), vec![Value::Number(2.0)].into()].into()),
            7 => Ok(arguments.to_vec().into()),
            8 => Ok(Value::Undefined),
            9 => Ok(ops::subtract(argument(1), argument(0))?),
            _ => Err(Exception::kept()),
        }
    }

    fn clock(&self) -> Clock {
        Clock::utc(0.0)
    }
}

const FUNCTIONS: u32 = 11;

/// Receivers beside those that operators are tried with.
fn more_values() -> Vec<Value> {
    let mut all: Vec<Value> = [
        "[3,1,2]",
        "[10,9,1,null,\"b\",true]",
        "[1,[2,[3,[4]]],[]]",
        "[\"b\",\"a\",\"B\",\"\",\"b\"]",
        "[[\"a\",1],[\"b\",2],[\"a\",3]]",
        "[1,2,3,4,5,6,7,8]",
        r#"{"length":3,"0":"x","2":"z"}"#,
        r#"{"length":"2"}"#,
        r#"{"map":1,"name":"n"}"#,
        r#"{"minimumFractionDigits":2}"#,
        r#"{"maximumFractionDigits":1,"useGrouping":false}"#,
    ]
    .iter()
    .map(|json| parse_json(json.as_bytes(), 9).unwrap_or_default())
    .collect();
    let texts = [
        "a-b-c",
        "-",
        "aXbX",
        "  padded\t",
        "ﬁİßΣ ΑΣ",
        "e\u{301}é",
        "😀😁😀",
        "$&-$$-$`-$'-$1",
        "a",
        "ab",
        "en-US",
        "%20%C3%A9",
        "%",
        "%zz",
        "%F0%9F%98%80",
        "%ED%A0%80",
        "a b/c?d=é&f#g",
        "YWJj",
        "YW Jj=",
        "Y",
        "YQ==",
        "/w==",
        "12px",
        "-0x1F",
        "0b11",
        "3.14.15",
        ".5e1x",
        "+Infinityx",
        "1e",
        "{\"a\":[1,2]}",
        "[1,",
        "  7  ",
        "\u{ff}\u{80}",
    ];
    all.extend(texts.map(Value::from));
    all.push(Text::from_units(&[0xd83d, 0x20, 0xde00, 0x20]).into());
    let numbers = [
        3.0,
        -2.0,
        4.0,
        7.0,
        10.0,
        16.0,
        36.0,
        100.0,
        101.0,
        255.0,
        1.005,
        0.000_001_5,
        123.456,
        -1.5,
        2.5,
        1e20,
        1234.5,
        1_234_567.891,
        1e-10,
        0.1,
        65_536.0,
        0.3,
        999.999_9,
        1_000_000.0,
    ];
    all.extend(numbers.map(Value::Number));
    let shuffled = (0..200).map(|i| Value::Number(f64::from(i * 7919 % 101)));
    all.push(shuffled.collect::<Vec<_>>().into());
    let shuffled = (0..40).map(|i| Value::Number(f64::from(i * 7919 % 11)));
    all.push(shuffled.collect::<Vec<_>>().into());
    all
}

/// What `ask` takes: name, index of the receiver or null, indices of the arguments.
type Case = (String, Option<usize>, Vec<usize>);

/// Some arguments: often of a kind that the function is made for.
fn arguments(random: &mut Random, pool: &[Value], callback: Option<usize>) -> Vec<usize> {
    let count = [0, 1, 1, 1, 2, 2, 2, 3, 4][random.below(9)];
    let first_function = pool.len() - FUNCTIONS as usize;
    (0..count)
        .map(|at| match callback {
            Some(position) if position == at && random.below(8) > 0 => {
                first_function + random.below(FUNCTIONS as usize)
            }
            _ => loop {
                let at = random.below(first_function);
                let is_simple = matches!(pool[at], Value::Number(_) | Value::String(_));
                if is_simple || random.below(3) == 0 {
                    break at;
                }
            },
        })
        .collect()
}

fn cases(pool: &[Value]) -> Vec<Case> {
    let mut random = Random(17);
    let mut cases = Vec::new();
    let receivers = pool.len() - FUNCTIONS as usize;
    // n8n's are not JavaScript's.
    let is_added =
        |method: &&Method| **method == Method::ToDateTime || method.number() > Method::ToUnixInteger.number();
    for method in Method::ALL.iter().filter(|method| !is_added(method)) {
        let callback = method.callback().map(|callback| callback.position);
        for receiver in 0..receivers {
            cases.push((method.name().to_owned(), Some(receiver), Vec::new()));
            for _ in 0..6 {
                let arguments = arguments(&mut random, pool, callback);
                cases.push((method.name().to_owned(), Some(receiver), arguments));
            }
        }
    }
    // Times are compared with Luxon in a test of their own.
    let is_time = |global: &&Global| global.number() > Global::StructuredClone.number();
    for global in Global::ALL.iter().filter(|global| !is_time(global)) {
        let callback = global.callback().map(|callback| callback.position);
        for argument in 0..receivers {
            cases.push((global.name().to_owned(), None, vec![argument]));
        }
        for _ in 0..400 {
            cases.push((
                global.name().to_owned(),
                None,
                arguments(&mut random, pool, callback),
            ));
        }
    }
    cases
}

fn answer(case: &Case, pool: &[Value]) -> String {
    let (name, receiver, arguments) = case;
    let arguments: Vec<Value> = arguments.iter().map(|at| pool[*at].clone()).collect();
    let outcome = match receiver {
        Some(receiver) => {
            let method = Method::from_name(name).unwrap();
            methods::call_method(&pool[*receiver], method, &arguments, &mut Functions)
        }
        None => methods::call_global(Global::from_name(name).unwrap(), &arguments, &mut Functions),
    };
    match outcome {
        Ok(value) => encode(&value),
        Err(exception) => exception.kind.name().to_owned(),
    }
}

#[test]
fn methods_and_functions_give_what_javascript_gives() {
    let mut pool = values();
    pool.extend(more_values());
    pool.extend((0..FUNCTIONS).map(Value::Function));
    let cases = cases(&pool);
    let question = json!({
        "ask": "calls",
        "values": pool.iter().map(encoded).collect::<Vec<_>>(),
        "cases": cases,
    });
    let Some(theirs) = ask::<Vec<String>>(&question) else {
        return;
    };
    let shown = |case: &Case| {
        let arguments: Vec<_> = case.2.iter().map(|at| &pool[*at]).collect();
        format!(
            "{} of {:?} with {arguments:?}",
            case.0,
            case.1.map(|at| &pool[at])
        )
    };
    let mut unsupported = 0;
    let (mut ours, mut kept) = (Vec::new(), Vec::new());
    for (case, theirs) in cases.iter().zip(theirs) {
        let answer = answer(case, &pool);
        // What needs tables that are not here says so.
        if answer == Kind::Unsupported.name() {
            unsupported += 1;
            continue;
        }
        ours.push((shown(case), answer));
        kept.push(theirs);
    }
    println!("{} cases, {unsupported} unsupported", cases.len());
    assert!(unsupported * 20 < cases.len(), "{unsupported} are unsupported");
    assert_same(ours.into_iter(), &kept);
}

fn encoded(value: &Value) -> serde_json::Value {
    match value {
        Value::Function(function) => json!(["f", function]),
        value => case(value),
    }
}

#[test]
fn numbers_are_formatted_as_javascript_formats_them() {
    let mut random = Random(23);
    let mut pool: Vec<Value> = (0..=40).map(|number| Value::Number(number.into())).collect();
    let arguments = pool.len();
    for _ in 0..2_000 {
        let bits = f64::from_bits(random.next());
        let decimal = (random.next() >> 40) as f64 / 1_000.0;
        let half = (random.next() >> 44) as f64 / 16.0;
        pool.extend([bits, decimal, half, -decimal, half_way(&mut random)].map(Value::Number));
    }
    pool.extend(powers_of_two().map(Value::Number));
    let mut cases: Vec<Case> = Vec::new();
    for receiver in arguments..pool.len() {
        for method in ["toFixed", "toPrecision", "toString", "toExponential"] {
            cases.push((method.to_owned(), Some(receiver), vec![random.below(arguments)]));
        }
        cases.push(("toLocaleString".to_owned(), Some(receiver), vec![]));
        cases.push(("toExponential".to_owned(), Some(receiver), vec![]));
    }
    let question = json!({
        "ask": "calls",
        "values": pool.iter().map(case).collect::<Vec<_>>(),
        "cases": cases,
    });
    let Some(theirs) = ask::<Vec<String>>(&question) else {
        return;
    };
    let ours = cases.iter().map(|case| {
        let receiver = case.1.map(|at| &pool[at]);
        (
            format!("{} {receiver:?} {:?}", case.0, case.2),
            answer(case, &pool),
        )
    });
    assert_same(ours, &theirs);
}
