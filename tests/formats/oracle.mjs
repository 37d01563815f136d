// What well-known libraries make of the tests' cases: `node oracle.mjs KIND` reads an array of cases as JSON and prints
// an array of answers, of which one that is an error is {error: message}.

import * as cheerio from 'cheerio';
import crypto from 'node:crypto';
import { Parser, HtmlRenderer } from 'commonmark';
import { XMLParser } from 'fast-xml-parser';
import { micromark } from 'micromark';
import { gfm, gfmHtml } from 'micromark-extension-gfm';
import Papa from 'papaparse';
import { SaxesParser } from 'saxes';
import YAML from 'yaml';

const named = (groups) =>
  Object.fromEntries(Object.entries(groups ?? {}).map(([name, group]) => [name, group ?? null]));
const found = (match) => ({
  match: match[0],
  index: match.index,
  captures: [...match].slice(1).map((capture) => capture ?? null),
  groups: named(match.groups),
});

// As JSON text, in which half a character is an escape that outlives its way to the test.
const regex = (item) => JSON.stringify(matched(item));

function matched({ operation, pattern, flags, text, replacement }) {
  const all = flags.includes('g') ? flags : `${flags}g`;
  const expression = new RegExp(pattern, flags);
  switch (operation) {
    case 'test': return expression.test(text);
    case 'match': {
      const match = expression.exec(text);
      return match && found(match);
    }
    case 'matchAll': return [...text.matchAll(new RegExp(pattern, all))].map(found);
    case 'replace': return text.replace(expression, replacement);
    default: return text.split(expression).map((part) => part ?? null);
  }
}

// heddle's form of a document, made of the events of a parser that checks all rules of XML.
function xml(text) {
  const parser = new SaxesParser();
  const open = [{ fields: [], text: '', elements: 0 }];
  parser.on('error', (error) => { throw error; });
  parser.on('opentag', (tag) => {
    const fields = Object.entries(tag.attributes).map(([name, value]) => [`@${name}`, value]);
    open.at(-1).elements += 1;
    open.push({ name: tag.name, fields, text: '', elements: 0 });
  });
  parser.on('text', (text) => { open.at(-1).text += text; });
  parser.on('cdata', (text) => { open.at(-1).text += text; });
  parser.on('closetag', () => {
    const { name, fields, text } = open.pop();
    const trimmed = text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '');
    open.at(-1).fields.push([name, fields.length === 0 ? trimmed : gathered(fields, trimmed)]);
  });
  parser.write(text).close();
  return gathered(open[0].fields, '');
}

function gathered(fields, text) {
  const object = {};
  for (const [name, value] of text === '' ? fields : [...fields, ['#text', text]]) {
    object[name] = name in object ? [object[name], value].flat() : value;
  }
  return object;
}

// What the library trims by itself are values of attributes too, which XML keeps, and all space of Unicode; and only with
// HTML's entities does it know those by number.
const fast = new XMLParser({
  ignoreAttributes: false, attributeNamePrefix: '@', textNodeName: '#text', parseTagValue: false,
  parseAttributeValue: false, ignoreDeclaration: true, ignorePiTags: true, trimValues: false,
  htmlEntities: true,
  tagValueProcessor: (_, text) => text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, ''),
});

function html({ page, selectors }) {
  const $ = cheerio.load(page);
  const of = ({ selector, attribute, html }) => $(selector).toArray()
    .map((element) => {
      if (attribute) return $(element).attr(attribute);
      return html ? inner($(element)) : $(element).text().replace(/\s+/g, '');
    })
    .filter((value) => value !== undefined);
  return Object.fromEntries(Object.entries(selectors).map(([name, selector]) => [name, of(selector)]));
}

// Of an element's attributes, since 2025 HTML's serialisation escapes < and > as well, so that what was harmless stays so
// when it is read otherwise; heddle follows it, cheerio does not yet.
function inner(element) {
  const copy = element.clone();
  visit(copy[0], ({ attribs }) => {
    for (const name in attribs) attribs[name] = attribs[name].replace(/</g, '\ue000').replace(/>/g, '\ue001');
  });
  return copy.html().replace(/\ue000/g, '&lt;').replace(/\ue001/g, '&gt;');
}

function visit(node, seen) {
  seen(node);
  for (const child of node.children ?? []) visit(child, seen);
}

// Two ways to write the same page become one: space around blocks and <br>, except in <pre>; what is left of a
// blank line of code when it has lost its indentation; the order of attributes; and the alignment of cells, for which
// HTML no longer has the `align` of GitHub's specification, but `style` says the same.
function canonical(page) {
  const plain = page.split(/(<pre>.*?<\/pre>)/s)
    .map((part, index) => (index % 2 ? part.replace(/(^|>)[ \t]+$/gm, '$1') : part.replace(/[ \t\n]+/g, ' ').replace(BLOCK, '$1').trim()));
  const body = cheerio.load(plain.join(''))('body');
  visit(body[0], (node) => {
    if (node.type !== 'tag') return;
    if (node.name === 'th' || node.name === 'td') aligned(node);
    node.attribs = Object.fromEntries(Object.entries(node.attribs).sort());
  });
  return body.html();
}

const BLOCK = / ?(<\/?(?:p|h[1-6]|[uo]l|li|blockquote|hr|table|thead|tbody|tr|t[hd]|br)(?: [^>]*)?\/?>) ?/g;

function aligned(cell) {
  const align = /^text-align: (left|center|right)$/.exec(cell.attribs.style ?? '');
  if (align && !cell.attribs.align) {
    delete cell.attribs.style;
    cell.attribs.align = align[1];
  }
}

function jwtKeys() {
  const pem = { publicKeyEncoding: { type: 'spki', format: 'pem' }, privateKeyEncoding: { type: 'pkcs8', format: 'pem' } };
  const ec = () => crypto.generateKeyPairSync('ec', { namedCurve: 'P-256', ...pem });
  const rsa = (modulusLength) => crypto.generateKeyPairSync('rsa', { modulusLength, ...pem });
  return { rsa: rsa(2048), weak: rsa(1024), ec: ec(), other: ec() };
}

const dsa = (key) => ({ key, dsaEncoding: 'ieee-p1363' });

function jwtSign({ algorithm, key, payload }) {
  const encoded = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const input = `${encoded({ alg: algorithm, typ: 'JWT' })}.${encoded(payload)}`;
  const signature = algorithm.startsWith('HS')
    ? crypto.createHmac(`sha${algorithm.slice(2)}`, key).update(input).digest()
    : crypto.sign('sha256', Buffer.from(input), algorithm === 'ES256' ? dsa(key) : key);
  return `${input}.${signature.toString('base64url')}`;
}

function jwtVerify({ algorithm, key, token }) {
  const at = token.lastIndexOf('.');
  const [input, signature] = [token.slice(0, at), Buffer.from(token.slice(at + 1), 'base64url')];
  if (algorithm.startsWith('HS')) {
    return crypto.createHmac(`sha${algorithm.slice(2)}`, key).update(input).digest().equals(signature);
  }
  return crypto.verify('sha256', Buffer.from(input), algorithm === 'ES256' ? dsa(key) : key, signature);
}

const kinds = {
  regex,
  xml,
  fastXml: (text) => fast.parse(text),
  yaml: (text) => YAML.parseAllDocuments(text, { merge: true }).map((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS();
  }),
  yaml11: (text) => YAML.parse(text, { version: '1.1' }),
  yamlWrite: (value) => [YAML.stringify(value), YAML.stringify(value, { collectionStyle: 'flow' }),
    YAML.stringify(value, { defaultStringType: 'QUOTE_SINGLE' }), YAML.stringify(value, { blockQuote: 'folded' })],
  csv: ({ text, delimiter }) => Papa.parse(text, { delimiter, skipEmptyLines: true }).data,
  csvWrite: (rows) => Papa.unparse(rows),
  html,
  canonical,
  commonmark: (text) => canonical(new HtmlRenderer().render(new Parser().parse(text))),
  gfm: (text) => canonical(micromark(text, { allowDangerousHtml: true, extensions: [gfm()], htmlExtensions: [gfmHtml()] })),
  jwtKeys,
  jwtSign,
  jwtVerify,
};

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const answers = JSON.parse(Buffer.concat(chunks).toString()).map((item) => {
  try {
    return kinds[process.argv[2]](item) ?? null;
  } catch (error) {
    return { error: String(error.message) };
  }
});
process.stdout.write(JSON.stringify(answers));
