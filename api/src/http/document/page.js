// Draws /api/openapi.json for people. Every text of the document goes into the page as text, never as markup.
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete"];
const DEPTH_MAX = 6;
let api = {};

/** An element with attributes and children, in lists of any depth; texts become text nodes. */
function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null));
  return element;
}

/** A text whose `code` spans are shown as code; empty lines part paragraphs. */
function prose(text) {
  return (text || "").split(/\n\s*\n/).filter(Boolean).map((paragraph) =>
    el("p", {}, paragraph.split("`").map((part, index) => (index % 2 ? el("code", {}, part) : part))));
}

function resolve(thing) {
  let found = thing || {};
  for (let hops = 0; found.$ref && hops < 20; hops++) {
    found = found.$ref.replace(/^#\//, "").split("/").reduce((at, key) => at?.[key], api) || {};
  }
  return found;
}

const refName = (schema) => schema?.$ref?.split("/").pop();

/** Null is said as "or null", so the other types of a union are what counts. */
function parts(schema) {
  const union = schema.oneOf || schema.anyOf;
  return union ? union.filter((part) => part.type !== "null") : null;
}

function typeText(given) {
  if (given === true || given === undefined) return "any";
  const schema = resolve(given);
  const types = [schema.type].flat().filter(Boolean);
  const nullable = types.includes("null") || (schema.oneOf || schema.anyOf || []).some((part) => part.type === "null");
  let text;
  if (parts(schema)) text = parts(schema).map(typeText).join(" | ");
  else if (schema.enum) text = schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  else if (schema.const !== undefined) text = JSON.stringify(schema.const);
  else if (types.includes("array")) text = `${typeText(schema.items)}[]`;
  else text = types.filter((type) => type !== "null").join(" | ") || (schema.properties || schema.allOf ? "object" : "any");
  if (schema.format && text === "string") text = schema.format;
  return nullable ? `${text} | null` : text;
}

function bounds(given) {
  const schema = resolve(given);
  const said = [];
  for (const [key, words] of [["minimum", "at least"], ["maximum", "at most"], ["minLength", "characters from"],
    ["maxLength", "characters to"], ["minItems", "elements from"], ["maxItems", "elements to"], ["pattern", "matches"],
    ["default", "default"]]) {
    if (schema[key] !== undefined) said.push(`${words} ${typeof schema[key] === "string" ? schema[key] : JSON.stringify(schema[key])}`);
  }
  return said.join(", ");
}

/** An example of a schema: its own, or one put together from its parts. */
function example(given, depth = 0) {
  if (given === true || given === undefined || depth > DEPTH_MAX) return null;
  if (given.example !== undefined) return given.example;
  const schema = resolve(given);
  if (schema.example !== undefined) return schema.example;
  if (schema.examples?.length) return schema.examples[0];
  if (schema.default !== undefined && schema.default !== null) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map((part) => example(part, depth + 1)));
  if (parts(schema)) return example(parts(schema)[0], depth + 1);
  const type = [schema.type].flat().find((type) => type !== "null");
  if (type === "array") {
    const element = example(schema.items, depth + 1);
    return element === null ? [] : [element];
  }
  if (schema.properties) {
    return Object.fromEntries(Object.entries(schema.properties).map(([key, part]) => [key, example(part, depth + 1)]));
  }
  return { string: "text", integer: schema.minimum ?? 1, number: 1.5, boolean: true, object: {} }[type] ?? null;
}

/** Rows for the fields of a schema, those of inner objects below their own. */
function fieldRows(given, prefix, open) {
  const name = refName(given);
  if (name && open.includes(name)) return [];
  const within = name ? [...open, name] : open;
  const schema = resolve(given);
  const inner = schema.allOf || parts(schema);
  if (inner) return inner.flatMap((part) => fieldRows(part, prefix, within));
  if ([schema.type].flat().includes("array")) return fieldRows(schema.items, `${prefix}[]`, within);
  if (within.length + prefix.split(".").length > 2 * DEPTH_MAX) return [];
  return Object.entries(schema.properties || {}).flatMap(([key, part]) => {
    const path = prefix ? `${prefix}.${key}` : key;
    const required = (schema.required || []).includes(key);
    return [row(path, required, part, part.description || resolve(part).description), ...fieldRows(part, path, within)];
  });
}

function row(name, required, schema, description) {
  const limits = bounds(schema);
  return el("tr", {},
    el("td", {}, el("code", {}, name), required ? el("span", { class: "required", title: "required" }, " required") : ""),
    el("td", { class: "type" }, typeText(schema)),
    el("td", {}, prose(description), limits ? el("span", { class: "type" }, limits) : ""));
}

function table(rows) {
  if (!rows.length) return null;
  const head = ["Field", "Type", "Meaning"].map((title) => el("th", { scope: "col" }, title));
  return el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows));
}

const json = (value) => el("pre", { tabindex: "0" }, typeof value === "string" ? value : JSON.stringify(value, null, 2));

function content(holder) {
  return Object.entries(holder.content || {}).map(([type, media]) => {
    const given = media.example ?? Object.values(media.examples || {})[0]?.value;
    const shown = given ?? example(media.schema);
    return el("div", {}, type === "application/json" ? null : el("p", {}, el("code", {}, type)),
      table(fieldRows(media.schema || {}, "", [])), shown === null ? null : json(shown));
  });
}

function curl(method, path, operation) {
  const words = ["curl"];
  if (method !== "get") words.push(`-X ${method.toUpperCase()}`);
  if (needsToken(operation)) words.push('-H "Authorization: Bearer $TOKEN"');
  const [type, media] = Object.entries(resolve(operation.requestBody).content || {})[0] || [];
  if (type) words.push(`-H "Content-Type: ${type}"`);
  if (type?.includes("json")) {
    const body = JSON.stringify(media.example ?? example(media.schema));
    words.push(`-d '${body.replaceAll("'", "'\\''")}'`);
  }
  const query = (operation.parameters || []).map(resolve).filter((it) => it.in === "query" && it.required)
    .map((it) => `${it.name}=${encodeURIComponent(it.example ?? example(it.schema))}`).join("&");
  words.push(`"${location.origin}${path}${query ? `?${query}` : ""}"`);
  return words.join(" ");
}

const needsToken = (operation) => (operation.security || []).some((way) => "bearer" in way);

/** An operation. What it holds is drawn when it is first opened: two hundred of them at once keep a browser busy for seconds. */
function draw(method, path, operation) {
  const drawn = el("details", { class: "operation", id: operation.operationId },
    el("summary", {}, el("span", { class: `method ${method}` }, method.toUpperCase()), el("code", {}, path),
      el("span", { class: "what" }, operation.summary || "")));
  drawn.addEventListener("toggle", () => drawn.append(inside(method, path, operation)), { once: true });
  return drawn;
}

function inside(method, path, operation) {
  const parameters = (operation.parameters || []).map(resolve);
  const body = resolve(operation.requestBody);
  const groups = ["path", "query", "header"].map((place) => [place, parameters.filter((it) => it.in === place)]);
  const answers = Object.entries(operation.responses || {}).map(([status, given]) => {
    const response = resolve(given);
    return el("details", status.startsWith("2") ? { class: "answer", open: "" } : { class: "answer" },
      el("summary", {}, el("strong", {}, status), " ", response.description || ""),
      Object.entries(response.headers || {}).map(([name, header]) =>
        el("p", {}, el("code", {}, name), " ", resolve(header).description || "")),
      content(response));
  });
  return el("div", {}, prose(operation.description),
    el("p", { class: "lock" }, needsToken(operation) ? "Needs a token." : "Needs no token."),
    groups.filter(([, list]) => list.length).map(([place, list]) => [
      el("h3", {}, { path: "Path", query: "Query", header: "Headers" }[place]),
      table(list.map((it) => row(it.name, it.required, it.schema || {}, it.description)))]),
    body.content ? [el("h3", {}, body.required ? "Body" : "Body, optional"), content(body)] : null,
    el("h3", {}, "Answers"), answers, el("h3", {}, "Try it"), json(curl(method, path, operation)));
}

function show() {
  const groups = new Map((api.tags || []).map((tag) => [tag.name, { about: tag.description, list: [] }]));
  for (const [path, item] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((method) => item[method])) {
      const tag = item[method].tags?.[0] || "Other";
      if (!groups.has(tag)) groups.set(tag, { list: [] });
      groups.get(tag).list.push([method, path, item[method]]);
    }
  }
  document.getElementById("about").replaceChildren(
    el("h1", {}, `${api.info.title} API`), ...prose(api.info.description),
    el("p", {}, `Version ${api.info.version}. As a document for programs: `, el("a", { href: "/api/openapi.json" }, "/api/openapi.json"), "."));
  const index = [], operations = [];
  for (const [tag, { about, list }] of groups) {
    if (!list.length) continue;
    index.push(el("section", {}, el("h2", {}, tag), el("ul", {}, list.map(([method, path, operation]) =>
      el("li", { "data-text": `${tag} ${method} ${path} ${operation.summary}`.toLowerCase() },
        el("a", { href: `#${operation.operationId}`, title: operation.summary },
          el("span", { class: `method ${method}` }, method.toUpperCase()), el("span", {}, path.replace(/^\/api/, ""))))))));
    operations.push(el("section", {}, el("h2", {}, tag), prose(about), list.map((it) => draw(...it))));
  }
  document.getElementById("index").replaceChildren(...index);
  document.getElementById("operations").replaceChildren(...operations);
}

function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target?.tagName === "DETAILS") {
    target.open = true;
    target.scrollIntoView();
  }
}

document.getElementById("filter").addEventListener("input", (event) => {
  const words = event.target.value.toLowerCase().split(/\s+/);
  for (const item of document.querySelectorAll("nav li")) {
    item.hidden = !words.every((word) => item.dataset.text.includes(word));
  }
  for (const section of document.querySelectorAll("nav section")) {
    section.hidden = !section.querySelector("li:not([hidden])");
  }
});
window.addEventListener("hashchange", openTarget);

fetch("/api/openapi.json").then((reply) => reply.json()).then((found) => {
  api = found;
  show();
  openTarget();
}).catch((error) => {
  document.getElementById("operations").replaceChildren(el("p", { class: "error" }, `The document could not be read: ${error}`));
});
