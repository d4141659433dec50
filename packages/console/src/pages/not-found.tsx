import { Link } from "wouter";
import { useI18n } from "../i18n/i18n.tsx";
import { Empty } from "../ui/states.tsx";

export function NotFoundPage() {
  const { t } = useI18n();
  return (
    <Empty icon="search" title={t("notFound.title")}>
      <Link href="/" className="text-accent-deep underline">
        {t("notFound.back")}
      </Link>
    </Empty>
  );
}
