//! The jobs: what data they work on, and three patterns and a function of JavaScript that do the same with it.

use serde_json::{Value, json};

/// One job. All of its ways give the same result.
pub struct Job {
    pub name: &'static str,
    pub event: Value,
    /// With nodes made for data.
    pub nodes: Graph,
    /// With expressions in Transform nodes.
    pub expressions: Graph,
    /// The body of a function of `input`: of a JavaScript node, and of Node.js.
    pub code: &'static str,
}

/// The steps of a pattern, from its trigger on. Each names those whose output it gets; without any, it is the one before.
#[derive(Default)]
pub struct Graph {
    pub steps: Vec<Step>,
}

pub struct Step {
    pub node_type: &'static str,
    pub each: bool,
    pub parameters: Value,
    /// Step and input port.
    pub inputs: Vec<(usize, &'static str)>,
}

impl Graph {
    fn then(mut self, node_type: &'static str, parameters: Value) -> Self {
        let (each, inputs) = (false, Vec::new());
        self.steps.push(Step {
            node_type,
            each,
            parameters,
            inputs,
        });
        self
    }

    /// The step before executes for each element of a list.
    fn each(mut self) -> Self {
        if let Some(step) = self.steps.last_mut() {
            step.each = true;
        }
        self
    }

    /// The step before gets what these steps give, at these ports; `START` is the trigger.
    fn with_inputs(mut self, inputs: &[(usize, &'static str)]) -> Self {
        if let Some(step) = self.steps.last_mut() {
            step.inputs = inputs.to_vec();
        }
        self
    }

    fn transform(self, value: &str) -> Self {
        self.then("Transform", json!({ "value": format!("{{{{ {value} }}}}") }))
    }

    /// A JavaScript node with this body.
    pub fn of_code(body: &str) -> Self {
        let code = format!("export default ({{input}}) => {{\n{body}\n}}");
        Graph::default().then("JavaScript", json!({ "code": code }))
    }
}

/// As an input of a step: the trigger.
pub const START: usize = usize::MAX;

pub fn all() -> Vec<Job> {
    vec![rows(), csv(), join(), texts(), deep(), numbers()]
}

/// Pseudo-random numbers that are the same each time (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn cents(&mut self, end: u64) -> f64 {
        self.below(end) as f64 / 100.0
    }

    fn date(&mut self) -> String {
        format!(
            "2026-{:02}-{:02}T{:02}:{:02}:00Z",
            self.below(12) + 1,
            self.below(28) + 1,
            self.below(24),
            self.below(60)
        )
    }
}

const COUNTRIES: &[&str] = &["de", "fr", "it", "es", "pl", "nl", "se", "at"];
const NAMES: &[&str] = &[
    "Ada Lovelace",
    "Grace Hopper",
    "Jörg Müller",
    "Élodie Martin",
    "Ann Lee",
    "Bo Chen",
];

fn rows() -> Job {
    let mut random = Random(25);
    let row = |index: u64| {
        json!({
            "id": format!("o-{index:05}"), "status": random.of(&["paid", "open", "paid", "refunded"]),
            "qty": random.below(9), "unit": "pcs", "price": random.cents(20_000), "created": random.date(),
            "customer": { "name": random.of(NAMES), "country": random.of(COUNTRIES) },
            "tags": [random.of(&["new", "vip", "web"]), random.of(&["b2b", "b2c"])],
        })
    };
    let rows: Vec<Value> = (0..5_000).map(row).collect();
    let fields = json!({
        "id": "{{ $input.id }}",
        "name": "{{ $input.customer.name.toUpperCase() }}",
        "country": "{{ $input.customer.country }}",
        "total": "{{ Math.round($input.qty * $input.price * 100) / 100 }}",
        "label": "{{ `${$input.id}: ${($input.qty * $input.price).toFixed(2)} EUR` }}",
        "month": "{{ $input.created.slice(0, 7) }}",
        "vip": "{{ $input.tags.includes('vip') }}",
    });
    let sums = json!({
        "count": { "op": "count" }, "total": { "op": "sum", "value": "total" }, "largest": { "op": "first", "value": "label" },
    });
    Job {
        name: "rows",
        event: json!({ "rows": rows }),
        nodes: Graph::default()
            .then("Filter", json!({
                "items": "{{ $input.rows }}", "condition": "{{ $item.status === 'paid' && $item.qty > 2 }}",
            }))
            .then("SetFields", json!({ "fields": fields, "keepInput": false }))
            .each()
            .then("Sort", json!({ "by": [{ "value": "total", "order": "desc" }, { "value": "id" }] }))
            .then("Aggregate", json!({ "groupBy": ["country"], "values": sums })),
        expressions: Graph::default()
            .transform("$input.rows.filter(r => r.status === 'paid' && r.qty > 2)")
            .transform(
                "$input.map(r => ({ id: r.id, name: r.customer.name.toUpperCase(), country: r.customer.country, \
                 total: Math.round(r.qty * r.price * 100) / 100, label: `${r.id}: ${(r.qty * r.price).toFixed(2)} EUR`, \
                 month: r.created.slice(0, 7), vip: r.tags.includes('vip') }))",
            )
            .transform("$input.toSorted((a, b) => b.total - a.total || (a.id < b.id ? -1 : 1))")
            .transform(
                "Object.values($input.reduce((groups, r) => ({ ...groups, [r.country]: { country: r.country, \
                 count: (groups[r.country]?.count ?? 0) + 1, total: (groups[r.country]?.total ?? 0) + r.total, \
                 largest: groups[r.country]?.largest ?? r.label } }), {}))",
            ),
        code: "const rows = input.rows
    .filter((r) => r.status === 'paid' && r.qty > 2)
    .map((r) => ({
        id: r.id, name: r.customer.name.toUpperCase(), country: r.customer.country,
        total: Math.round(r.qty * r.price * 100) / 100, label: `${r.id}: ${(r.qty * r.price).toFixed(2)} EUR`,
        month: r.created.slice(0, 7), vip: r.tags.includes('vip'),
    }))
    .sort((a, b) => b.total - a.total || (a.id < b.id ? -1 : 1));
const groups = {};
for (const row of rows) {
    const group = groups[row.country] ??= { country: row.country, count: 0, total: 0, largest: row.label };
    group.count += 1;
    group.total += row.total;
}
return Object.values(groups);",
    }
}

fn csv() -> Job {
    let mut random = Random(26);
    let mut text = String::from("id,region,product,qty,price,date\n");
    for index in 0..20_000 {
        let (region, product) = (
            random.of(COUNTRIES),
            random.of(&["chair", "table", "lamp", "shelf"]),
        );
        let (qty, price) = (random.below(20), random.cents(50_000));
        text.push_str(&format!(
            "{index},{region},{product},{qty},{price},{}\n",
            &random.date()[..10]
        ));
    }
    Job {
        name: "csv",
        event: json!({ "csv": text }),
        nodes: Graph::default().then("Csv", json!({ "value": "{{ $input.csv }}" })).then(
            "Aggregate",
            json!({ "groupBy": ["region"], "values": {
                "count": { "op": "count" }, "total": { "op": "sum", "value": "{{ Number($item.qty) * Number($item.price) }}" },
            } }),
        ),
        expressions: Graph::default()
            .transform("$input.csv.trim().split('\\n').slice(1).map(line => line.split(','))")
            .transform(
                "Object.values($input.reduce((groups, r) => ({ ...groups, [r[1]]: { region: r[1], \
                 count: (groups[r[1]]?.count ?? 0) + 1, total: (groups[r[1]]?.total ?? 0) + Number(r[3]) * Number(r[4]) } }), {}))",
            ),
        code: "const [header, ...lines] = input.csv.trim().split('\\n');
const names = header.split(',');
const groups = {};
for (const line of lines) {
    const cells = line.split(',');
    const row = Object.fromEntries(names.map((name, at) => [name, cells[at]]));
    const group = groups[row.region] ??= { region: row.region, count: 0, total: 0 };
    group.count += 1;
    group.total += Number(row.qty) * Number(row.price);
}
return Object.values(groups);",
    }
}

fn join() -> Job {
    let mut random = Random(27);
    let customers: Vec<Value> = (0..1_000)
        .map(|index| json!({ "key": format!("c-{index}"), "name": random.of(NAMES), "tier": random.of(&["gold", "silver", "none"]) }))
        .collect();
    let orders: Vec<Value> = (0..8_000)
        .map(|index| json!({ "order": index, "customer": format!("c-{}", random.below(1_000)), "amount": random.cents(90_000) }))
        .collect();
    Job {
        name: "join",
        event: json!({ "orders": orders, "customers": customers }),
        nodes: Graph::default()
            .transform("$input.orders")
            .transform("$input.customers")
            .with_inputs(&[(START, "in")])
            .then("Join", json!({ "leftKey": "customer", "rightKey": "key" }))
            .with_inputs(&[(0, "left"), (1, "right")])
            .then("Aggregate", json!({ "groupBy": ["tier"], "values": {
                "count": { "op": "count" }, "total": { "op": "sum", "value": "amount" }, "last": { "op": "last", "value": "name" },
            } })),
        expressions: Graph::default()
            .transform("({ orders: $input.orders, by: Object.fromEntries($input.customers.map(c => [c.key, c])) })")
            .transform("$input.orders.map(o => ({ ...o, ...$input.by[o.customer] }))")
            .transform(
                "Object.values($input.reduce((groups, r) => ({ ...groups, [r.tier]: { tier: r.tier, \
                 count: (groups[r.tier]?.count ?? 0) + 1, total: (groups[r.tier]?.total ?? 0) + r.amount, last: r.name } }), {}))",
            ),
        code: "const by = new Map(input.customers.map((customer) => [customer.key, customer]));
const groups = {};
for (const row of input.orders.map((order) => ({ ...order, ...by.get(order.customer) }))) {
    const group = groups[row.tier] ??= { tier: row.tier, count: 0, total: 0, last: '' };
    group.count += 1;
    group.total += row.amount;
    group.last = row.name;
}
return Object.values(groups);",
    }
}

fn texts() -> Job {
    let mut random = Random(28);
    let person = |index: u64| {
        let city = random.of(&["Berlin", "Paris", "Kraków"]);
        json!({
            "name": random.of(NAMES), "email": format!("User{index}@Example.com"), "balance": random.cents(1_000_000),
            "items": [{ "sku": "A-1", "qty": random.below(5) + 1 }, { "sku": "B-22", "qty": random.below(5) + 1 }],
            "address": if index.is_multiple_of(3) { Value::Null } else { json!({ "city": city }) },
        })
    };
    let people: Vec<Value> = (0..2_000).map(person).collect();
    let of = |of: &str| {
        format!(
            "`Dear ${{{of}.name.split(' ')[0]}} <${{{of}.email.toLowerCase()}}>,\\n\\nyour balance is \
             ${{{of}.balance.toFixed(2)}} EUR (${{({of}.balance * 1.19).toFixed(2)}} with tax).\\nYou ordered \
             ${{{of}.items.map(i => `${{i.qty}} x ${{i.sku}}`).join(', ')}}, to be sent to \
             ${{{of}.address?.city ?? 'your shop'}}.\\n${{{of}.balance > 5000 ? 'Thank you!' : ''}}`"
        )
    };
    Job {
        name: "texts",
        event: json!({ "people": people }),
        nodes: Graph::default()
            .transform("$input.people")
            .then("Template", json!({ "text":
                "Dear {{ $input.name.split(' ')[0] }} <{{ $input.email.toLowerCase() }}>,\n\nyour balance is \
                 {{ $input.balance.toFixed(2) }} EUR ({{ ($input.balance * 1.19).toFixed(2) }} with tax).\nYou ordered \
                 {{ $input.items.map(i => `${i.qty} x ${i.sku}`).join(', ') }}, to be sent to \
                 {{ $input.address?.city ?? 'your shop' }}.\n{{ $input.balance > 5000 ? 'Thank you!' : '' }}" }))
            .each(),
        expressions: Graph::default().transform(&format!("$input.people.map(p => {})", of("p"))),
        code: "return input.people.map((p) => `Dear ${p.name.split(' ')[0]} <${p.email.toLowerCase()}>,\\n\\nyour balance is ` +
    `${p.balance.toFixed(2)} EUR (${(p.balance * 1.19).toFixed(2)} with tax).\\nYou ordered ` +
    `${p.items.map((i) => `${i.qty} x ${i.sku}`).join(', ')}, to be sent to ` +
    `${p.address?.city ?? 'your shop'}.\\n${p.balance > 5000 ? 'Thank you!' : ''}`);",
    }
}

fn deep() -> Job {
    let mut random = Random(29);
    let mut document = |index: u64| {
        let line = |at: u64, random: &mut Random| json!({ "sku": format!("S{at}"), "detail": { "size": { "w": random.below(90), "h": 3 } } });
        let lines: Vec<Value> = (0..6).map(|at| line(at, &mut random)).collect();
        json!({ "id": index, "meta": { "audit": { "by": { "name": random.of(NAMES), "role": random.of(&["admin", "user"]) },
            "at": { "date": random.date() } }, "flags": { "a": true, "b": { "c": null } } }, "order": { "lines": lines } })
    };
    let documents: Vec<Value> = (0..1_500).map(&mut document).collect();
    Job {
        name: "deep",
        event: json!({ "documents": documents }),
        nodes: Graph::default()
            .then("Filter", json!({
                "items": "{{ $input.documents }}", "condition": "{{ $item.meta.audit.by.role === 'admin' }}",
            }))
            .then("SetFields", json!({ "fields": {
                "meta.audit.seen": true, "width": "{{ $input.order.lines.map(l => l.detail.size.w).reduce((a, b) => a + b, 0) }}",
            } }))
            .each()
            .then("PickFields", json!({ "fields": ["id", "width", "meta"] })),
        expressions: Graph::default()
            .transform("$input.documents.filter(d => d.meta.audit.by.role === 'admin')")
            .transform(
                "$input.map(d => ({ id: d.id, width: d.order.lines.map(l => l.detail.size.w).reduce((a, b) => a + b, 0), \
                 meta: { ...d.meta, audit: { ...d.meta.audit, seen: true } } }))",
            ),
        code: "return input.documents
    .filter((d) => d.meta.audit.by.role === 'admin')
    .map((d) => ({
        id: d.id, width: d.order.lines.map((l) => l.detail.size.w).reduce((a, b) => a + b, 0),
        meta: { ...d.meta, audit: { ...d.meta.audit, seen: true } },
    }));",
    }
}

fn numbers() -> Job {
    let mut random = Random(30);
    let values: Vec<f64> = (0..20_000).map(|_| random.cents(1_000_000)).collect();
    let formula =
        |x: &str| format!("(Math.sqrt({x} * {x} * 3 + 2 * {x} + 1) % 7) * ({x} > 5000 ? 1.5 : -0.5)");
    let spread = "({ count: $input.length, sum: $input.reduce((a, b) => a + b, 0), \
                  squares: $input.reduce((a, b) => a + b * b, 0), largest: $input.reduce((a, b) => a > b ? a : b) })";
    Job {
        name: "numbers",
        event: json!({ "values": values }),
        nodes: Graph::default()
            .transform("$input.values")
            .then("Transform", json!({ "value": format!("{{{{ {} }}}}", formula("$input")) }))
            .each()
            .then("Aggregate", json!({ "values": {
                "count": { "op": "count" }, "sum": { "op": "sum", "value": "{{ $item }}" },
                "squares": { "op": "sum", "value": "{{ $item * $item }}" }, "largest": { "op": "max", "value": "{{ $item }}" },
            } })),
        expressions: Graph::default()
            .transform(&format!("$input.values.map(x => {})", formula("x")))
            .transform(spread),
        code: "const values = input.values.map((x) => (Math.sqrt(x * x * 3 + 2 * x + 1) % 7) * (x > 5000 ? 1.5 : -0.5));
let [sum, squares, largest] = [0, 0, -Infinity];
for (const value of values) {
    sum += value;
    squares += value * value;
    largest = Math.max(largest, value);
}
return { count: values.length, sum, squares, largest };",
    }
}
