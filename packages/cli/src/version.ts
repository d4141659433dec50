/** Held equal to package.json by a test; written here because `--version` should load nothing. */
export const version = "0.1.0";
