// Answers what JavaScript makes of the expressions on standard input: the JSON of the value as it leaves a node.
const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
const answers = cases.map(([source, input]) => {
  try {
    const value = new Function("$input", `"use strict"; return (${source});`)(input);
    return { ok: JSON.parse(JSON.stringify(value === undefined ? null : value)) };
  } catch (error) {
    return { error: error.name };
  }
});
process.stdout.write(JSON.stringify(answers));
