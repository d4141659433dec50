/** Held equal to package.json by a test; written here so that nothing has to be read at start. */
export const version = "0.2.0";
