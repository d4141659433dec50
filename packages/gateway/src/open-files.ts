import fs from "node:fs";

/** Every device and every caller needs one, beside some 50 for the gateway itself. */
const fewOpenFiles = 1_024;

/** What to tell the user if the system lets this process open few files. At the limit it drops connections silently. */
export function openFileWarning(): string | undefined {
  const most = openFileLimit();
  if (most === undefined || most >= fewOpenFiles) return undefined;
  return (
    `the system lets this process open only ${most} files, and every connection is one: ` +
    "raise the limit (`ulimit -n`, or LimitNOFILE of systemd)"
  );
}

/** The limit after Node has raised it as far as the system allows; `undefined` if the system does not tell. */
function openFileLimit(): number | undefined {
  try {
    const limits = fs.readFileSync("/proc/self/limits", "utf8");
    const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
