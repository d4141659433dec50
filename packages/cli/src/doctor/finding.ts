/** The result of one check. A warning or failure says why it matters and what to do. */
export interface Finding {
  readonly check: string;
  readonly state: "ok" | "warning" | "failed";
  readonly message: string;
  readonly why?: string;
  readonly todo?: string;
}

export interface Trouble {
  readonly message: string;
  readonly why: string;
  readonly todo: string;
}

export function fine(check: string, message: string): Finding {
  return { check, state: "ok", message };
}

export function warning(check: string, trouble: Trouble): Finding {
  return { check, state: "warning", ...trouble };
}

export function failed(check: string, trouble: Trouble): Finding {
  return { check, state: "failed", ...trouble };
}
