/** The states of a board's connection. */
export type SessionState =
  | { readonly kind: "awaiting_hello" }
  /** The hello was received; the device offers no tools. */
  | { readonly kind: "plain" }
  /** The hello was received; the device speaks MCP. */
  | { readonly kind: "mcp" }
  | { readonly kind: "closed"; readonly reason: string };

type SessionStep =
  | { readonly step: "hello"; readonly mcp: boolean }
  | { readonly step: "close"; readonly reason: string };

export function transition(state: SessionState, event: SessionStep): SessionState {
  if (state.kind === "closed") return state;
  switch (event.step) {
    case "hello":
      return { kind: event.mcp ? "mcp" : "plain" };
    case "close":
      return { kind: "closed", reason: event.reason };
    default:
      return event satisfies never;
  }
}
