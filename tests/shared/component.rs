//! Components written by hand, of the world `heddle:node`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The parts of a component, in WebAssembly text.
#[derive(Clone, Copy, Default)]
pub struct Parts<'a> {
    /// Further imports of the component, and what is made of them for its module.
    pub imports: &'a str,
    pub lowered: &'a str,
    pub with: &'a str,
    /// Further imports and parts of the module. Data begins at 1024.
    pub module_imports: &'a str,
    pub parts: &'a str,
    /// Of `execute`, whose parameters are `$input $input_len $parameters $parameters_len $context $context_len`; `$ok`
    /// gives the result for a text, `$fail` for a code and a message, and `$write` logs.
    pub body: &'a str,
}

/// A component whose `execute` has this body.
pub fn component(body: &str) -> Vec<u8> {
    component_with("", body)
}

/// The same with further parts of its module.
pub fn component_with(parts: &str, body: &str) -> Vec<u8> {
    component_of(Parts {
        parts,
        body,
        ..Parts::default()
    })
}

/// A component of these parts.
pub fn component_of(given: Parts<'_>) -> Vec<u8> {
    let Parts {
        imports,
        lowered,
        with,
        module_imports,
        parts,
        body,
    } = given;
    let text = format!(
        r#"(component
        (import "heddle:node/log@0.1.0" (instance $log
            (type $level_type (enum "debug" "info" "warn" "error"))
            (export "level" (type $level (eq $level_type)))
            (export "write" (func (param "level" $level) (param "message" string)))))
        {imports}
        (type $failure_type (record (field "code" (option string)) (field "message" string)))
        (import "failure" (type $failure (eq $failure_type)))
        (core module $libc
            (memory (export "memory") 2)
            (global $next (mut i32) (i32.const 65536))
            (func (export "realloc") (param i32 i32 i32 i32) (result i32)
                (local $at i32)
                (local.set $at (i32.and (i32.add (global.get $next) (i32.const 15)) (i32.const -16)))
                (global.set $next (i32.add (local.get $at) (local.get 3)))
                (if (i32.gt_u (global.get $next) (i32.mul (memory.size) (i32.const 65536)))
                    (then (drop (memory.grow (i32.add (i32.const 1) (i32.div_u (local.get 3) (i32.const 65536)))))))
                (local.get $at)))
        (core instance $libc (instantiate $libc))
        (alias core export $libc "memory" (core memory $memory))
        (alias core export $libc "realloc" (core func $realloc))
        (core func $write (canon lower (func $log "write") (memory $memory) string-encoding=utf8))
        {lowered}
        (core module $main
            (import "libc" "memory" (memory 2))
            (import "log" "write" (func $write (param i32 i32 i32)))
            {module_imports}
            (func $ok (param i32 i32) (result i32)
                (i32.store8 (i32.const 16) (i32.const 0))
                (i32.store (i32.const 20) (local.get 0))
                (i32.store (i32.const 24) (local.get 1))
                (i32.const 16))
            (func $fail (param i32 i32 i32 i32) (result i32)
                (i32.store8 (i32.const 16) (i32.const 1))
                (i32.store8 (i32.const 20) (i32.ne (local.get 1) (i32.const 0)))
                (i32.store (i32.const 24) (local.get 0))
                (i32.store (i32.const 28) (local.get 1))
                (i32.store (i32.const 32) (local.get 2))
                (i32.store (i32.const 36) (local.get 3))
                (i32.const 16))
            {parts}
            (func (export "execute") (param $input i32) (param $input_len i32) (param $parameters i32)
                (param $parameters_len i32) (param $context i32) (param $context_len i32) (result i32)
                {body}))
        (core instance $main (instantiate $main
            (with "libc" (instance $libc))
            (with "log" (instance (export "write" (func $write)))) {with}))
        (func $execute (param "input" string) (param "parameters" string) (param "context" string)
            (result (result string (error $failure)))
            (canon lift (core func $main "execute") (memory $memory) (realloc (func $realloc)) string-encoding=utf8))
        (export "execute" (func $execute)))"#
    );
    wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A component that gives its input back.
pub fn echo() -> Vec<u8> {
    component("(call $ok (local.get $input) (local.get $input_len))")
}

/// A component whose output is this text.
pub fn constant(output: &str) -> Vec<u8> {
    let data = output.replace('\\', "\\\\").replace('"', "\\\"");
    component_with(
        &format!("(data (i32.const 1024) \"{data}\")"),
        &format!("(call $ok (i32.const 1024) (i32.const {}))", output.len()),
    )
}

/// As definitions have it.
pub fn base64(component: &[u8]) -> String {
    STANDARD.encode(component)
}

/// A component that sends a GET to its input, a URL, and gives the response's body.
pub fn fetching() -> Vec<u8> {
    component_of(Parts {
        imports: r#"
        (import "heddle:node/http@0.1.0" (instance $http
            (type $headers (list (tuple string string)))
            (type $request_type (record (field "method" string) (field "url" string) (field "headers" $headers)
                (field "body" (option (list u8))) (field "timeout-ms" (option u32)) (field "follow-redirects" bool)))
            (export "request" (type $request (eq $request_type)))
            (type $response_type (record (field "status" u16) (field "headers" $headers) (field "body" (list u8))))
            (export "response" (type $response (eq $response_type)))
            (type $failure_type (record (field "code" string) (field "message" string)))
            (export "failure" (type $failure (eq $failure_type)))
            (export "send" (func (param "request" $request) (result (result $response (error $failure)))))))"#,
        lowered: r#"(core func $send (canon lower (func $http "send") (memory $memory) (realloc $realloc)
            string-encoding=utf8))"#,
        with: r#"(with "http" (instance (export "send" (func $send))))"#,
        module_imports: r#"(import "http" "send"
            (func $send (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))"#,
        parts: r#"(data (i32.const 1024) "GET")"#,
        body: "(call $send (i32.const 1024) (i32.const 3)
                (i32.add (local.get $input) (i32.const 1)) (i32.sub (local.get $input_len) (i32.const 2))
                (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
                (i32.const 0) (i32.const 64))
            (if (result i32) (i32.eqz (i32.load8_u (i32.const 64)))
                (then (call $ok (i32.load (i32.const 80)) (i32.load (i32.const 84))))
                (else (call $fail (i32.load (i32.const 68)) (i32.load (i32.const 72))
                    (i32.load (i32.const 76)) (i32.load (i32.const 80)))))",
    })
}
