"""Generated from `proto/ktms/admin/v1/admin.proto` (`make proto`); never edited, held to it by a drift test."""
