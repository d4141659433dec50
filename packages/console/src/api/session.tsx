import type { SessionView } from "@tendon/protocol";
import { createContext, type ReactNode, useContext, useMemo } from "react";

type Who = NonNullable<SessionView["principal"]>;
type About = NonNullable<SessionView["gateway"]>;

export interface Session {
  readonly principal: Who;
  readonly gateway: About;
  /** Whether the token has a scope. The console does not offer actions that the token lacks. */
  readonly may: (scope: Who["scopes"][number]) => boolean;
}

const Context = createContext<Session | undefined>(undefined);

export function SessionProvider(props: {
  readonly principal: Who;
  readonly gateway: About;
  readonly children: ReactNode;
}) {
  const { principal, gateway, children } = props;
  const value = useMemo(
    () => ({ principal, gateway, may: (scope: Who["scopes"][number]) => principal.scopes.includes(scope) }),
    [principal, gateway],
  );
  return <Context value={value}>{children}</Context>;
}

export function useSession(): Session {
  const session = useContext(Context);
  if (session === undefined) throw new TypeError("useSession outside of SessionProvider");
  return session;
}
