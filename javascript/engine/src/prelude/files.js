// Blob and File (W3C File API, a part). A value that refers to a file is a File as well: the host has its bytes, and they are
// read when they are asked for. What code has made is stored when it is handed on: the function that this gives does it.
(native, global) => {
  const MARK = "$file";
  const ANY_TYPE = "application/octet-stream";
  // Bytes that are read at once. The run's journal has none of them: they are read once more if the run goes on after a crash.
  const PART_BYTES = 1 << 20;
  const isStored = (value) => typeof value?.[MARK] === "string";
  // The bytes of what code has made.
  const contents = new WeakMap();
  // Of parts of stored files: the file, and from where to where.
  const ranges = new WeakMap();

  const joined = (parts) => {
    if (parts === null || typeof parts !== "object" || typeof parts[Symbol.iterator] !== "function") {
      throw new TypeError("A Blob takes an array of its parts");
    }
    const pieces = Array.from(parts, (part) => {
      if (part instanceof Blob) {
        if (contents.has(part)) return contents.get(part);
        throw new TypeError("A stored file can't be part of another file: read it first, with `await file.bytes()`");
      }
      if (part instanceof ArrayBuffer || ArrayBuffer.isView(part)) return native.bytesOf(part);
      return native.encodeUtf8(String(part));
    });
    const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
    let at = 0;
    for (const piece of pieces) {
      bytes.set(piece, at);
      at += piece.length;
    }
    return bytes;
  };
  const read = async (file, from = 0, to = Infinity) => {
    const about = { [MARK]: file[MARK], name: String(file.name ?? ""), type: String(file.type ?? "") };
    let bytes = new Uint8Array(0);
    for (let offset = from, end = Math.min(from + 1, to); offset < end;) {
      const request = { operation: "read", file: about, as: "base64", offset, limit: Math.min(PART_BYTES, to - offset) };
      const answer = await native.request("file-piece", request);
      const part = Uint8Array.fromBase64(answer.base64);
      if (offset === from) {
        end = Math.min(answer.size, to);
        bytes = new Uint8Array(Math.max(end - from, 0));
      }
      if (part.length === 0) break;
      bytes.set(part, offset - from);
      offset += part.length;
    }
    return bytes;
  };
  const own = (target, name, value) => {
    Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
  };

  class Blob {
    constructor(parts = [], { type = "" } = {}) {
      const bytes = joined(parts);
      contents.set(this, bytes);
      own(this, "type", String(type).toLowerCase());
      own(this, "size", bytes.length);
    }
    async bytes() {
      const bytes = contents.get(this);
      if (bytes) return bytes.slice();
      if (ranges.has(this)) return read(...ranges.get(this));
      if (isStored(this)) return read(this);
      throw new TypeError("This is not a file");
    }
    async arrayBuffer() { return (await this.bytes()).buffer; }
    async text() { return new global.TextDecoder().decode(await this.bytes()); }
    async json() { return JSON.parse(await this.text()); }
    slice(start, end, type = "") {
      const bytes = contents.get(this);
      if (bytes) return new Blob([bytes.slice(start, end)], { type });
      const [file, from, to] = ranges.get(this) ?? [this, 0, this.size];
      if (!isStored(file) || !Number.isSafeInteger(to) || to < from) {
        throw new TypeError("A file whose size is not known has no parts: read it first, by `await file.bytes()`");
      }
      const size = to - from;
      const placeOf = (value, otherwise) => {
        const at = value === undefined ? otherwise : Math.trunc(Number(value)) || 0;
        return at < 0 ? Math.max(size + at, 0) : Math.min(at, size);
      };
      const first = placeOf(start, 0), last = Math.max(placeOf(end, size), first);
      const part = new Blob([], { type });
      contents.delete(part);
      own(part, "size", last - first);
      ranges.set(part, [file, from + first, from + last]);
      return part;
    }
    get [Symbol.toStringTag]() { return "Blob"; }
  }
  class File extends Blob {
    constructor(parts, name, options) {
      if (name === undefined) throw new TypeError("new File takes the file's parts and its name");
      super(parts, options);
      own(this, "name", String(name));
      native.madeFile();
    }
    get [Symbol.toStringTag]() { return "File"; }
  }
  native.filePrototype = File.prototype;
  // A body of fetch: the bytes of what code has made, or a file that the host has.
  native.bodyOfFile = (value) => {
    if (!(value instanceof Blob)) return undefined;
    const type = value.type || undefined;
    if (isStored(value)) return { file: { [MARK]: value[MARK], name: value.name, type: value.type }, type: type ?? ANY_TYPE };
    if (!contents.has(value)) throw new TypeError("A part of a stored file can't be sent: read it first, with `await part.bytes()`");
    return { bytes: contents.get(value), type };
  };

  for (const [name, value] of Object.entries({ Blob, File })) {
    Object.defineProperty(global, name, { value, writable: true, configurable: true });
  }

  const store = async (file) => {
    const request = {
      operation: "make", base64: contents.get(file).toBase64(), name: file.name, type: file.type || ANY_TYPE,
    };
    const made = await native.request("file", request);
    for (const [name, value] of Object.entries(made)) own(file, name, value);
  };
  // Stores the files in a value; one after the other, so that it is done in the same order each time.
  native.storeFiles = async (value) => {
    const seen = new Set();
    const values = [value];
    while (values.length > 0) {
      const one = values.pop();
      if (typeof one !== "object" || one === null || ArrayBuffer.isView(one) || seen.has(one)) continue;
      seen.add(one);
      if (!(one instanceof File)) {
        // One by one: a call takes 65,535 arguments.
        for (const child of Object.values(one).reverse()) values.push(child);
      } else if (contents.has(one) && !isStored(one)) {
        await store(one);
      }
    }
    return value;
  };
  return native.storeFiles;
}
