import type { ReactNode } from "react";
import { useSession } from "../api/session.tsx";
import { useI18n } from "../i18n/i18n.tsx";
import { Empty } from "./states.tsx";

/** Shows the content to administrators; others read which scope it needs, or what `otherwise` gives. */
export function AdminOnly({
  otherwise,
  children,
}: {
  readonly otherwise?: ReactNode;
  readonly children: ReactNode;
}) {
  const { t } = useI18n();
  const { may } = useSession();
  if (may("admin")) return children;
  if (otherwise !== undefined) return otherwise;
  return (
    <Empty icon="lock" title={t("admin.only")}>
      <p>{t("admin.onlyHint")}</p>
    </Empty>
  );
}
