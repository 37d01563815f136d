"use strict";
(() => {
  const form = document.forms[0];
  const log = document.getElementById("log");
  const state = document.getElementById("state");
  const field = form.elements.message;
  const name = log.dataset.name;
  let busy = false;

  const say = (who, kind) => {
    const turn = document.createElement("div");
    const by = document.createElement("p");
    const text = document.createElement("p");
    turn.className = "turn " + kind;
    by.className = "who";
    by.textContent = who;
    text.className = "text";
    turn.append(by, text);
    log.append(turn);
    return text;
  };

  // Of events without a name the data is the answer; of the last one, `end`, this gives how it went.
  const read = (event, add) => {
    let type = "";
    const data = [];
    for (const line of event.split("\n")) {
      if (line.startsWith("event: ")) type = line.slice(7);
      if (line.startsWith("data: ")) data.push(line.slice(6));
    }
    if (type === "" && data.length > 0) add(data.join("\n"));
    return type === "end" ? JSON.parse(data.join("\n")).status : null;
  };

  const answer = async (message) => {
    let text = null;
    const add = (piece) => {
      text ??= say(name, "them");
      text.textContent += piece;
      text.parentElement.scrollIntoView({ block: "nearest" });
    };
    const response = await fetch(location.href, {
      method: "POST",
      credentials: "omit",
      headers: { "Content-Type": "application/json", Accept: "text/event-stream, application/json" },
      body: JSON.stringify({ message, sessionId: form.elements.sessionId.value }),
    });
    if (!response.ok) throw new Error(String(response.status));
    const isPlain = !response.headers.get("content-type").startsWith("text/event-stream");
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    let rest = "";
    let end = isPlain ? "completed" : null;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      rest += decoder.decode(value, { stream: true });
      if (isPlain) {
        add(rest);
        rest = "";
        continue;
      }
      for (let at = rest.indexOf("\n\n"); at >= 0; at = rest.indexOf("\n\n")) {
        end = read(rest.slice(0, at), add) ?? end;
        rest = rest.slice(at + 2);
      }
    }
    // A run that goes on may have said everything, and wait for something else now.
    if (end !== "completed" && !(end === "running" && text !== null)) throw new Error(end ?? "broken off");
  };

  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const message = field.value.trim();
    if (busy || message === "") return;
    busy = true;
    say("You", "you").textContent = message;
    field.value = "";
    state.textContent = name + " is answering…";
    log.setAttribute("aria-busy", "true");
    try {
      await answer(message);
      state.textContent = "";
    } catch {
      state.textContent = "There is no answer because something went wrong. Try again later.";
    }
    log.removeAttribute("aria-busy");
    busy = false;
    field.focus();
  });
})();
