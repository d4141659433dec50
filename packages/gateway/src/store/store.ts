/**
 * What must survive a restart, in the data folder. Files are written whole under another name and then renamed, so
 * that a crash leaves the old one or the new one, never half of either.
 */
export { openDataFolder } from "./data-folder.ts";
export { announceGateway } from "./run-file.ts";
export { readOrMakeSecret, type SecretFile } from "./secret-file.ts";
