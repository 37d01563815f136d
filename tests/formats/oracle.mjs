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

function regex({ operation, pattern, flags, text, replacement }) {
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

const fast = new XMLParser({
  ignoreAttributes: false, attributeNamePrefix: '@', textNodeName: '#text', parseTagValue: false,
  parseAttributeValue: false, ignoreDeclaration: true, ignorePiTags: true,
});

function html({ page, selectors }) {
  const $ = cheerio.load(page);
  const of = ({ selector, attribute, html }) => $(selector).toArray()
    .map((element) => {
      if (attribute) return $(element).attr(attribute);
      return html ? $(element).html() : $(element).text().replace(/\s+/g, '');
    })
    .filter((value) => value !== undefined);
  return Object.fromEntries(Object.entries(selectors).map(([name, selector]) => [name, of(selector)]));
}

// Two ways to write the same page become one.
const canonical = (page) => cheerio.load(page)('body').html().replace(/\s+/g, ' ').replace(/> </g, '><').trim();

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
