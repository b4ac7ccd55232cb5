// The server, as functions. A token for editing comes with the address (#token=...) or is asked for.

import { byId } from "./dom.js";

const KEPT = "nearspan-token";

const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  sessionStorage.setItem(KEPT, given);
  history.replaceState(null, "", location.pathname); // out of sight, and out of bookmarks
}

async function send(method, path, body, headers = {}) {
  const options = { method, headers };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    headers["Content-Type"] = "application/json";
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. Is it still running?");
  }
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw Object.assign(new Error(found.error ?? `The server says ${answer.status}.`), { status: answer.status });
  return found;
}

export const get = (path) => send("GET", path);
export const post = (path, body) => send("POST", path, body);

/** A request that edits; asks for the token where there is none or a wrong one. Null where the user would rather not. */
export async function edit(method, path, body) {
  for (;;) {
    const token = sessionStorage.getItem(KEPT);
    if (token) {
      try {
        return await send(method, path, body, { Authorization: `Bearer ${token}` });
      } catch (error) {
        if (error.status !== 401) throw error;
        sessionStorage.removeItem(KEPT);
      }
    }
    if (!(await askForToken())) return null;
  }
}

function askForToken() {
  const dialog = byId("token");
  const value = byId("token-value");
  value.value = "";
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((done) => {
    byId("token-use").onclick = () => {
      if (value.value) sessionStorage.setItem(KEPT, value.value.trim());
    };
    byId("token-cancel").onclick = () => dialog.close();
    value.onkeydown = null;
    dialog.onclose = () => done(Boolean(sessionStorage.getItem(KEPT)));
  });
}
