// FormData (WHATWG XMLHttpRequest) as a body of fetch: texts and files, those that the host has as well, which it reads while it sends.
// Comes after `files` and before `fetch`.
(native, global) => {
  const ANY_TYPE = "application/octet-stream";
  const lists = new WeakMap();
  const textOf = (value) => String(value).toWellFormed();
  const entryOf = (name, value, hasFileName, fileName) => {
    const { Blob, File } = global;
    if (!(value instanceof Blob)) {
      if (hasFileName) throw new TypeError("FormData takes a file's name only with a File or Blob");
      return [textOf(name), textOf(value)];
    }
    const called = hasFileName ? textOf(fileName) : String(value.name ?? "blob");
    if (value instanceof File && (!hasFileName || value.name === called)) return [textOf(name), value];
    // Of a file that the host has, the value with another name; else a file of the same bytes.
    const file = native.bodyOfFile(value).file
      ? Object.assign(Object.create(native.filePrototype), value, { name: called }) : new File([value], called, { type: value.type });
    return [textOf(name), file];
  };

  class FormData {
    constructor(form) {
      if (form !== undefined) throw new TypeError("new FormData() takes nothing: there are no forms here");
      lists.set(this, []);
    }
    append(name, value, ...fileName) { lists.get(this).push(entryOf(name, value, fileName.length > 0, fileName[0])); }
    set(name, value, ...fileName) {
      const entry = entryOf(name, value, fileName.length > 0, fileName[0]);
      const list = lists.get(this);
      const at = list.findIndex(([known]) => known === entry[0]);
      if (at < 0) list.push(entry);
      else lists.set(this, list.flatMap((one, index) => (index === at ? [entry] : one[0] === entry[0] ? [] : [one])));
    }
    delete(name) { lists.set(this, lists.get(this).filter(([known]) => known !== textOf(name))); }
    get(name) { return lists.get(this).find(([known]) => known === textOf(name))?.[1] ?? null; }
    getAll(name) { return lists.get(this).filter(([known]) => known === textOf(name)).map(([, value]) => value); }
    has(name) { return lists.get(this).some(([known]) => known === textOf(name)); }
    forEach(callback, thisArgument) {
      for (const [name, value] of this) callback.call(thisArgument, value, name, this);
    }
    *entries() { for (const [name, value] of lists.get(this)) yield [name, value]; }
    *keys() { for (const [name] of this.entries()) yield name; }
    *values() { for (const [, value] of this.entries()) yield value; }
    [Symbol.iterator]() { return this.entries(); }
    get [Symbol.toStringTag]() { return "FormData"; }
  }

  const lines = (text) => text.replace(/\r\n?|\n/g, "\r\n");
  const quoted = (text) => `"${text.replace(/["\r\n]/g, (letter) => ({ '"': "%22", "\r": "%0D", "\n": "%0A" })[letter])}"`;
  // As multipart/form-data (RFC 7578), in pieces: what the host has is not read here.
  native.bodyOfForm = (value) => {
    const list = typeof value === "object" && value !== null ? lists.get(value) : undefined;
    if (list === undefined) return undefined;
    const boundary = `----form-${native.randomBytes(16).toHex()}`;
    const pieces = [];
    let text = "";
    for (const [name, content] of list) {
      text += `--${boundary}\r\nContent-Disposition: form-data; name=${quoted(lines(name))}`;
      if (typeof content === "string") {
        text += `\r\n\r\n${lines(content)}\r\n`;
        continue;
      }
      const type = /^[\x20-\x7e]+$/.test(content.type) ? content.type : ANY_TYPE;
      text += `; filename=${quoted(textOf(content.name ?? ""))}\r\nContent-Type: ${type}\r\n\r\n`;
      const { file, bytes } = native.bodyOfFile(content);
      pieces.push({ text }, file ? { file } : { base64: bytes.toBase64() });
      text = "\r\n";
    }
    pieces.push({ text: `${text}--${boundary}--\r\n` });
    return { pieces, type: `multipart/form-data; boundary=${boundary}` };
  };
  Object.defineProperty(global, "FormData", { value: FormData, writable: true, configurable: true });
}
