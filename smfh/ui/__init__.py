"""The Streamlit user interface: the building blocks of the pages."""
