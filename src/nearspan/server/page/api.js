// The server's routes as functions. The token comes with the address (#token=...), or a dialog asks for it.

import { byId } from "./dom.js";

const TOKEN = "nearspan-token"; // its key in the session's storage

const tokenOfAddress = new URLSearchParams(location.hash.slice(1)).get("token");
if (tokenOfAddress) {
  sessionStorage.setItem(TOKEN, tokenOfAddress);
  history.replaceState(null, "", location.pathname); // out of sight, and out of bookmarks
}

export const get = (path) => read("GET", path);
export const post = (path, body) => read("POST", path, body);

/** A request that edits. Null where the user gives no token. */
export const edit = (method, path, body) => send(method, path, body, "Editing needs the token");

/** Whether there is a token and the server does not know it; it is forgotten then. */
export async function isTokenWrong() {
  const token = sessionStorage.getItem(TOKEN);
  if (!token || (await request("GET", "/memory/access", undefined, token)).status !== 401) return false;
  sessionStorage.removeItem(TOKEN);
  return true;
}

async function read(method, path, body) {
  const answer = await send(method, path, body, "Reading needs the token");
  if (answer === null) throw new Error("Reading needs the token. Load the page again to be asked for it.");
  return answer;
}

/** The answer to a request; asks for the token where it is missing, wrong or for reading only. */
async function send(method, path, body, title) {
  let token = sessionStorage.getItem(TOKEN);
  for (;;) {
    const response = await request(method, path, body, token);
    const { status } = response;
    if (status === 401) sessionStorage.removeItem(TOKEN);
    else if (status !== 403 && token) sessionStorage.setItem(TOKEN, token);
    const answer = await response.json().catch(() => ({}));
    if (response.ok) return answer;
    if (status !== 401 && status !== 403) throw new Error(answer.error ?? `The server answers with status ${status}.`);
    const reason = status === 403 ? "This token is for reading only." : "This token is wrong.";
    token = await askForToken(title, token ? reason : "");
    if (!token) return null;
  }
}

async function request(method, path, body, token) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (token) headers.Authorization = `Bearer ${token.replace(/[^!-~]/g, "?")}`; // a header is ASCII
  try {
    return await fetch(path, { method, headers, body: JSON.stringify(body) });
  } catch {
    throw new Error("The server does not answer. Is it still running?");
  }
}

let asking = null; // one dialog for all requests that need a token

function askForToken(title, reason) {
  asking ??= showDialog(title, reason).finally(() => (asking = null));
  return asking;
}

/** The token that the user types; null where the dialog is left without one. */
function showDialog(title, reason) {
  const [dialog, field] = [byId("token"), byId("token-value")];
  byId("token-title").textContent = title;
  byId("token-reason").textContent = reason;
  field.value = "";
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    byId("token-cancel").onclick = () => dialog.close();
    dialog.onclose = () => resolve(dialog.returnValue === "use" ? field.value.trim() : null);
  });
}
