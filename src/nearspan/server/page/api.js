// The server's routes as functions. The token for editing comes with the address (#token=...), or a dialog asks for it.

import { byId } from "./dom.js";

const TOKEN = "nearspan-token"; // its key in the session's storage

const tokenOfAddress = new URLSearchParams(location.hash.slice(1)).get("token");
if (tokenOfAddress) {
  sessionStorage.setItem(TOKEN, tokenOfAddress);
  history.replaceState(null, "", location.pathname); // out of sight, and out of bookmarks
}

async function send(method, path, body, headers = {}) {
  const options = { method, headers };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    headers["Content-Type"] = "application/json";
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. Is it still running?");
  }
  const { status } = response;
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw Object.assign(new Error(answer.error ?? `The server answers with status ${status}.`), { status });
  return answer;
}

export const get = (path) => send("GET", path);
export const post = (path, body) => send("POST", path, body);

/** A request that edits; asks for the token where it is missing or wrong. Null where the user cancels. */
export async function edit(method, path, body) {
  for (;;) {
    const token = sessionStorage.getItem(TOKEN);
    if (token) {
      try {
        return await send(method, path, body, { Authorization: `Bearer ${token}` });
      } catch (error) {
        if (error.status !== 401) throw error;
        sessionStorage.removeItem(TOKEN);
      }
    }
    if (!(await askForToken())) return null;
  }
}

function askForToken() {
  const dialog = byId("token");
  const field = byId("token-value");
  field.value = "";
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    byId("token-use").onclick = () => {
      if (field.value) sessionStorage.setItem(TOKEN, field.value.trim());
    };
    byId("token-cancel").onclick = () => dialog.close();
    dialog.onclose = () => resolve(Boolean(sessionStorage.getItem(TOKEN)));
  });
}
