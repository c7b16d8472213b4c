"""The only Streamlit in the package: what pages are put together from."""
