// Pictures that survive a reload, in IndexedDB: localStorage is too small for them. Without it (a private window) they
// are only forgotten.
function open() {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open("gesso", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("kept");
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function act(mode, action) {
  const database = await open();
  try {
    return await new Promise((resolve, reject) => {
      const transaction = database.transaction("kept", mode);
      const request = action(transaction.objectStore("kept"));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error);
    });
  } finally {
    database.close();
  }
}

/** Keeps a value; null forgets it. */
export const keep = (name, value) =>
  act("readwrite", (all) => (value === null ? all.delete(name) : all.put(value, name))).catch(() => {});
export const recall = (name) => act("readonly", (all) => all.get(name)).catch(() => undefined);
